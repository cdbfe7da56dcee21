/** Query parameters that the framework gives to routes, and answers itself: handlers never see them. */
import type { Parameter, Route } from '../contracts/plugin.js';
import { csvColumns } from './csv.js';
import type { Form } from './form.js';
import type { Input } from './input.js';

export const FORMAT = 'format';
export const AS_OF = 'as_of';

const format: Parameter = {
  description: 'The form of the answer; wins over the header `Accept`. Without both: JSON.',
  schema: { type: 'string', enum: ['json', 'csv'] },
  example: 'json',
};

const asOf: Parameter = {
  description:
    'Answers from the snapshot that was current at the end of this day, in UTC, instead of the newest. ' +
    'Where the store keeps no snapshot of that time, or no earlier snapshots at all, that is a 404.',
  schema: { type: 'string', format: 'date' },
  example: '2026-06-30',
};

/** Those of one route, by name. */
export const frameworkParameters = (route: Route): Readonly<Record<string, Parameter>> => ({
  ...(csvColumns(route) ? { [FORMAT]: format } : {}),
  ...(route.kind === 'data' && route.vintages ? { [AS_OF]: asOf } : {}),
});

/** The route as it is served and documented. */
export const withFrameworkParameters = (route: Route): Route => {
  const added = frameworkParameters(route);
  if (Object.keys(added).length === 0) return route;
  return { ...route, parameters: { ...route.parameters, query: { ...route.parameters?.query, ...added } } };
};

export interface FrameworkInput {
  readonly format: Form['name'] | undefined;
  readonly asOf: string | undefined;
}

/** Splits the input of a route with framework parameters into theirs and the handler's. */
export const splitInput = (route: Route, all: Input): { input: Input; framework: FrameworkInput } => {
  const theirs = frameworkParameters(route);
  const input: Record<string, Input[string]> = Object.create(null);
  for (const [name, value] of Object.entries(all)) if (!Object.hasOwn(theirs, name)) input[name] = value;
  const given = (name: string) => (Object.hasOwn(theirs, name) ? all[name] : undefined) as never;
  return { input, framework: { format: given(FORMAT), asOf: given(AS_OF) } };
};
