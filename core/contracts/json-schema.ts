/** JSON Schema 2020-12 as plain data, and the types of the values that a schema describes. */
import type { XStatic } from 'typebox/schema';

/** An object without properties. */
export type Empty = Record<never, never>;

export type JsonSchema = { readonly [keyword: string]: unknown };

/**
 * The type of the values that a schema describes, deeply read-only. If part of the schema does not have a literal type,
 * for example because it is declared as `JsonSchema`, its values are `unknown`.
 */
export type FromSchema<S> = Immutable<XStatic<Simplified<S>>>;

/** Like `FromSchema`, but after defaults are filled in: every property that has a default is present. */
export type WithDefaults<S> = FromSchema<Defaulted<S>>;

type Immutable<T> = T extends object ? { readonly [K in keyof T]: Immutable<T[K]> } : T;

type Defaulted<S> = S extends { readonly properties: infer P }
  ? Omit<S, 'properties' | 'required'> & {
      readonly properties: { readonly [K in keyof P]: Defaulted<P[K]> };
      readonly required: readonly (RequiredOf<S> | DefaultedKey<P>)[];
    }
  : S;
type RequiredOf<S> = S extends { readonly required: readonly (infer K)[] } ? K & string : never;
type DefaultedKey<P> = { [K in keyof P]: P[K] extends { readonly default: unknown } ? K : never }[keyof P] & string;

/**
 * Prepares a schema for type inference. If `null` is one of several types, it becomes an alternative, because the
 * inference would drop it when `properties` or `items` follow. Keywords that do not affect the type are removed.
 */
type Simplified<S> = string extends keyof S
  ? Empty
  : S extends { readonly type: readonly (infer T)[] }
    ? 'null' extends T
      ? { anyOf: [Keywords<Omit<S, 'type'> & { type: Exclude<T, 'null'> }>, { type: 'null' }] }
      : Keywords<Omit<S, 'type'> & { type: T }>
    : Keywords<S>;
type Keywords<S> = { -readonly [K in keyof S as KeywordName<K, S[K]>]: Keyword<K, S[K]> };
type KeywordName<K, V> = K extends 'enum'
  ? 'const'
  : K extends 'type' | 'required' | 'additionalProperties' | 'anyOf' | 'oneOf' | 'allOf'
    ? IsWide<V> extends true
      ? never
      : K
    : K extends 'const' | 'properties' | 'items'
      ? K
      : never;
/**
 * Whether a type is wide rather than literal: `string`, `boolean`, `string[]`, or a list of schemas that is not a
 * tuple.
 */
type IsWide<V> = string extends V
  ? true
  : boolean extends V
    ? true
    : V extends readonly (infer One)[]
      ? string extends One
        ? true
        : One extends string
          ? false
          : number extends V['length']
            ? true
            : false
      : false;
/** Simplifies the schemas inside a keyword that contains schemas, and keeps the values of other keywords. */
type Keyword<K, V> = K extends 'properties' | 'anyOf' | 'oneOf' | 'allOf'
  ? { -readonly [I in keyof V]: Simplified<V[I]> }
  : K extends 'items' | 'additionalProperties'
    ? V extends boolean
      ? V
      : Simplified<V>
    : V extends readonly (infer One)[]
      ? K extends 'required'
        ? [One]
        : K extends 'enum'
          ? One
          : V
      : V;
