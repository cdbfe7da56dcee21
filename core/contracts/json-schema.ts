/** JSON Schema 2020-12 as plain data, and TypeScript types derived from schemas. */

export type Empty = Record<never, never>;

export type JsonSchema = { readonly [keyword: string]: unknown };

/**
 * The read-only TypeScript type of the values that a JSON Schema describes. Parts of the schema that are not literal,
 * such as a variable of type `JsonSchema`, become `unknown`.
 */
export type FromSchema<S> = ValueOf<S, 'read'>;

/** Like `FromSchema`, but properties with a default are always present. */
export type WithDefaults<S> = ValueOf<S, 'filled'>;

/**
 * TypeScript shows this name in errors about a schema whose `type` it widened to `string`. To keep the literal type,
 * write the schema inline in the call, or add `as const`.
 */
export interface DeclareSchemaAsConst {
  readonly 'declare the schema with `as const`': never;
}

interface Primitives {
  readonly string: string;
  readonly integer: number;
  readonly number: number;
  readonly boolean: boolean;
  readonly null: null;
}

/** Ajv does not fill in defaults inside `anyOf`, `oneOf` and `allOf`. */
type Unfilled<U> = U extends 'filled' ? 'read' : U;

type ValueOf<S, U> = string extends keyof S
  ? unknown
  : S extends { readonly const: infer V } | { readonly enum: readonly (infer V)[] }
    ? V & TypedValue<S, U>
    : S extends { readonly anyOf: readonly (infer A)[] } | { readonly oneOf: readonly (infer A)[] }
      ? ValueOf<A, Unfilled<U>> & TypedValue<S, U>
      : S extends { readonly allOf: infer A }
        ? AllOf<A, Unfilled<U>> & TypedValue<S, U>
        : TypedValue<S, U>;

type AllOf<A, U> = A extends readonly [infer First, ...infer Others] ? ValueOf<First, U> & AllOf<Others, U> : unknown;

type TypedValue<S, U> = S extends { readonly type: infer T }
  ? ValueOfType<T extends readonly (infer One)[] ? One : T, S, U>
  : S extends { readonly properties: object }
    ? ObjectOf<S, U>
    : unknown;

type ValueOfType<T, S, U> = unknown extends T
  ? unknown
  : string extends T
    ? DeclareSchemaAsConst
    : T extends keyof Primitives
      ? Primitives[T]
      : T extends 'array'
        ? readonly (S extends { readonly items: infer I } ? ValueOf<I, U> : unknown)[]
        : ObjectOf<S, U>;

type ObjectOf<S, U> = S extends { readonly properties: infer P }
  ? Properties<P, Present<S, P, U>, U> & AdditionalProperties<S, U, unknown>
  : AdditionalProperties<S, U, object>;

type Properties<P, K extends keyof P, U> = { readonly [Name in K]: ValueOf<P[Name], U> } & {
  readonly [Name in Exclude<keyof P, K>]?: ValueOf<P[Name], U>;
} extends infer O
  ? { [Name in keyof O]: O[Name] }
  : never;

type AdditionalProperties<S, U, None> = S extends { readonly additionalProperties: infer A }
  ? A extends false
    ? None
    : { readonly [name: string]: ValueOf<A, U> }
  : None;

type Present<S, P, U> = keyof P &
  (
    | (S extends { readonly required: readonly (infer K)[] } ? (string extends K ? never : K) : never)
    | (U extends 'filled' ? { [K in keyof P]: P[K] extends { readonly default: unknown } ? K : never }[keyof P] : never)
  );
