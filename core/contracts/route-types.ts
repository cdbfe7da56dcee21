/** Functions that declare routes. TypeScript infers the types of a handler from the schemas of its route. */
import type { DeclareSchemaAsConst, Empty, FromSchema, JsonSchema } from './json-schema.js';
import type { DataRoute, Parameters, Route, ServiceRoute, StreamedList } from './route.js';
import type { Scalar } from './storage.js';

type ValueOf<P> = P extends { readonly schema: infer S }
  ? string extends keyof S
    ? Scalar | boolean
    : FromSchema<S>
  : never;
/** Query parameters that always have a value, because they are required or have a default. */
type Given<Q> = {
  [K in keyof Q]: Q[K] extends { readonly required: true } | { readonly schema: { readonly default: unknown } }
    ? K
    : never;
}[keyof Q];
type InputOfParts<Path, Query> = { readonly [K in keyof Path | Given<Query>]: ValueOf<(Path & Query)[K]> } & {
  readonly [K in Exclude<keyof Query, Given<Query>>]?: ValueOf<Query[K]>;
};
type Part<P, K extends string> = P extends { readonly [_ in K]: infer V } ? V : Empty;
/** The parameter values that a handler receives. Their types are inferred from the schemas of the parameters. */
export type InputOf<P> =
  InputOfParts<Part<P, 'path'>, Part<P, 'query'>> extends infer I ? { readonly [K in keyof I]: I[K] } : never;

/**
 * The return type of a data route's handler, inferred from the response schema. Handlers can also return lists as
 * streams.
 */
export type DataResponseOf<S> =
  FromSchema<S> extends infer Response
    ? Response extends DeclareSchemaAsConst
      ? DeclareSchemaAsConst
      :
          | Response
          | (Response extends { readonly data: readonly (infer Row)[] }
              ? { readonly data: readonly Row[] | StreamedList<Row>['data'] }
              : StreamedList)
    : never;

type Declared<R extends Route, P, S, A> = Omit<
  R,
  'kind' | 'parameters' | 'response' | 'check' | 'handler' | keyof OfInput<Empty>
> & {
  readonly parameters?: P;
  readonly response: Omit<R['response'], 'schema'> & { readonly schema: S };
  readonly check?: (input: NoInfer<InputOf<P>>) => void;
  handler(input: NoInfer<InputOf<P>>, context: globalThis.Parameters<R['handler']>[1]): Promise<A>;
};

type OfInput<P> = Pick<DataRoute<NoInfer<InputOf<P>>>, 'columns' | 'normalize' | 'normalizeIn'>;

export const dataRoute = <
  const P extends Parameters = Empty,
  const S extends JsonSchema = JsonSchema,
  const A extends DataResponseOf<S> = DataResponseOf<S>,
>(
  route: Declared<DataRoute, P, S, A> & OfInput<P>,
): Route => ({ kind: 'data', ...route }) as Route;

export const serviceRoute = <
  const P extends Parameters = Empty,
  const S extends JsonSchema = JsonSchema,
  const A extends FromSchema<S> = FromSchema<S>,
>(
  route: Declared<ServiceRoute, P, S, A>,
): Route => ({ kind: 'service', ...route }) as Route;
