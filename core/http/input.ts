/** Turns path and query strings into a handler's checked, typed, normalised input. */
import type { Parameter, Route } from '../contracts/plugin.js';
import type { Scalar } from '../contracts/storage.js';
import { ApiError, type ErrorDetail, type ErrorKind, errors } from '../errors.js';
import { nearest } from '../nearest.js';
import { compileSchema, type ValidateFunction } from '../schema.js';

export type Input = Readonly<Record<string, Scalar | boolean>>;

interface Fault {
  readonly kind: ErrorKind;
  readonly sentence: string;
  readonly detail: ErrorDetail;
}

interface CompiledParameter {
  readonly name: string;
  readonly place: 'path' | 'query';
  readonly parameter: Parameter;
  readonly validate: ValidateFunction;
}

/** The first of these present names the error; `details` carries all faults. */
const PRECEDENCE: readonly ErrorKind[] = [errors.unknown_parameter, errors.missing_parameter, errors.invalid_parameter];

/** Compiles a route's parameters once; the result throws an `ApiError` (400) for wrong input. */
export const compileInput = (route: Route, unknownParameters: 'reject' | 'ignore') => {
  const compile = (place: 'path' | 'query', parameters: Readonly<Record<string, Parameter>> = {}) =>
    Object.entries(parameters).map(
      ([name, parameter]): CompiledParameter => ({
        name,
        place,
        parameter,
        validate: compileSchema(parameter.schema),
      }),
    );
  const inPath = compile('path', route.parameters?.path);
  const inQuery = compile('query', route.parameters?.query);
  const queryNames = inQuery.map(({ name }) => name);

  return (path: ReadonlyMap<string, string>, query: readonly (readonly [string, string])[]): Input => {
    const faults: Fault[] = [];
    const given = new Map<string, string>();
    for (const [name, value] of query) {
      if (!queryNames.includes(name)) {
        if (unknownParameters === 'reject') faults.push(unknownParameter(name, queryNames));
      } else if (given.has(name)) faults.push(invalid('query', name, 'must be given once only'));
      else given.set(name, value);
    }
    // The prototype of an input is null: a parameter may be called "constructor".
    const input: Record<string, Scalar | boolean> = Object.create(null);
    for (const compiled of inPath) read(compiled, path.get(compiled.name), input, faults);
    for (const compiled of inQuery) read(compiled, given.get(compiled.name), input, faults);
    if (faults.length > 0) throw asError(faults);
    route.check?.(input);
    return input;
  };
};

const read = (
  { name, place, parameter, validate }: CompiledParameter,
  raw: string | undefined,
  input: Record<string, Scalar | boolean>,
  faults: Fault[],
): void => {
  if (raw === undefined) {
    const fallback = parameter.schema['default'] as Scalar | boolean | undefined;
    if (fallback !== undefined) input[name] = fallback;
    else if (parameter.required) {
      faults.push({
        kind: errors.missing_parameter,
        sentence: `The query parameter "${name}" is required: ${parameter.description}`,
        detail: { in: place, name, issue: 'is required' },
      });
    }
    return;
  }
  const value = convert(raw, parameter.schema['type'] as string);
  if (value === undefined) {
    faults.push(invalid(place, name, `must be ${article(parameter.schema['type'] as string)}`));
  } else if (validate(value)) {
    input[name] = value;
  } else {
    const issues = validate.errors?.map((error) => describe(error.keyword, error.schema, error.message)) ?? [];
    faults.push(invalid(place, name, issues.join(' and ')));
  }
};

/** Exact spellings only: `5`, not `05`, `+5`, `5.0` or ` 5`. */
const convert = (raw: string, type: string): Scalar | boolean | undefined => {
  if (type === 'string') return raw;
  if (type === 'boolean') return raw === 'true' ? true : raw === 'false' ? false : undefined;
  const pattern = type === 'integer' ? /^-?(0|[1-9]\d*)$/ : /^-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?$/;
  const number = pattern.test(raw) ? Number(raw) : Number.NaN;
  if (!Number.isFinite(number) || (type === 'integer' && !Number.isSafeInteger(number))) return undefined;
  return number;
};

const article = (type: string): string =>
  type === 'integer' ? 'an integer' : type === 'boolean' ? 'true or false' : `a ${type}`;

const describe = (keyword: string, schema: unknown, message = 'is not valid'): string => {
  if (keyword === 'enum') return `must be one of ${(schema as unknown[]).join(', ')}`;
  if (keyword === 'minLength') return 'must not be empty';
  if (keyword === 'format' && schema === 'date') return 'must be a date of the calendar, as in 2024-01-31';
  return message;
};

const invalid = (place: 'path' | 'query', name: string, issue: string): Fault => ({
  kind: errors.invalid_parameter,
  sentence: `The ${place} parameter "${name}" ${issue}.`,
  detail: { in: place, name, issue },
});

const unknownParameter = (name: string, known: readonly string[]): Fault => {
  const guess = nearest(name, known);
  const advice = guess
    ? `Did you mean "${guess}"?`
    : known.length > 0
      ? `It has: ${known.join(', ')}.`
      : 'It takes no query parameters.';
  return {
    kind: errors.unknown_parameter,
    sentence: `This endpoint has no query parameter "${name}". ${advice}`,
    detail: { in: 'query', name, issue: guess ? `is not known; did you mean "${guess}"?` : 'is not known' },
  };
};

const asError = (faults: readonly Fault[]): ApiError => {
  const first = PRECEDENCE.flatMap((kind) => faults.filter((fault) => fault.kind === kind))[0]!;
  return new ApiError(first.kind, first.sentence, { details: faults.map(({ detail }) => detail) });
};
