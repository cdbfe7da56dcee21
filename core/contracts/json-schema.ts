/** JSON Schema 2020-12 as plain data, and the types of the values that a schema describes. */
import type { XStatic } from 'typebox/schema';

/** No properties. */
export type Empty = Record<never, never>;

export type JsonSchema = { readonly [keyword: string]: unknown };

/**
 * The values that a schema describes, read-only in depth. What is not literal in its type, such as a schema declared as
 * `JsonSchema`, is `unknown`.
 */
export type FromSchema<S> = Immutable<XStatic<Simplified<S>>>;

/** The same with each property that has a default: values that have been checked have them all. */
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
 * A schema as the inference takes it. Null among several types becomes an alternative of its own, since the inference
 * loses it beside `properties` and `items`; keywords that do not decide the type are left out.
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
/** Not literal: `string`, `boolean`, `string[]`, a list of schemas that is no tuple. */
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
/** Lists of names and values as the union of them, which a list that is no tuple has too. */
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
