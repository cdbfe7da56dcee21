/** Parses the target of a request into the checked and typed input of a handler. */

import type { Parameter, Route } from '../contracts/plugin.js';
import type { Scalar } from '../contracts/storage.js';
import { ApiError, type ErrorKind, errors, invalidParameter } from '../errors.js';
import { excerpt } from '../keys/key.js';
import { AS_OF, FORMAT, frameworkParameters } from '../registry/route-defaults.js';
import type { Format } from '../response/formats.js';
import { compileSchema, type ValidateFunction } from '../validation/compile-schema.js';
import { nearest } from '../validation/nearest.js';

/** The maximum number of parameters. Parsing costs time for each one, known or not. */
const MOST_PARAMETERS = 100;

interface Target {
  /** The path as it was sent, still percent-encoded. */
  readonly path: string;
  /** Decoded pairs. */
  readonly query: readonly (readonly [name: string, value: string])[];
}

/** @throws ApiError `invalid_parameter` if percent-encoding is malformed or not UTF-8 */
export const decodePercent = (text: string, place: 'path' | 'query', name: string): string => {
  if (!text.includes('%')) return text;
  try {
    return decodeURIComponent(text);
  } catch (cause) {
    throw new ApiError(
      errors.invalid_parameter,
      `The ${place} has malformed percent-encoding: each % must start the UTF-8 bytes of a character, such as %20.`,
      { details: [{ in: place, name: excerpt(name), issue: 'malformed percent-encoding' }], cause },
    );
  }
};

/**
 * Splits the target at its first `?` and decodes the query. `+` is a space there, as in HTML forms. `URLSearchParams`
 * accepts malformed percent-encoding, and `node:querystring` merges repeated parameters.
 */
export const parseTarget = (url: string): Target => {
  if (!url.startsWith('/')) {
    throw new ApiError(errors.invalid_parameter, 'The request target must begin with "/".');
  }
  const mark = url.indexOf('?');
  if (mark === -1) return { path: url, query: [] };
  const pairs = url.slice(mark + 1).split('&', MOST_PARAMETERS + 1);
  if (pairs.length > MOST_PARAMETERS) {
    throw new ApiError(errors.invalid_parameter, `The query has more than ${MOST_PARAMETERS} parameters.`);
  }
  const query = pairs
    .filter((pair) => pair !== '')
    .map((pair) => {
      const equals = pair.indexOf('=');
      const [rawName, rawValue] = equals === -1 ? [pair, ''] : [pair.slice(0, equals), pair.slice(equals + 1)];
      const name = decodePercent(rawName.replaceAll('+', ' '), 'query', rawName);
      return [name, decodePercent(rawValue.replaceAll('+', ' '), 'query', name)] as const;
    });
  return { path: url.slice(0, mark), query };
};

export type Input = Readonly<Record<string, Scalar | boolean>>;

/** Requests of a route with the same cache key get the same response in each format. */
export const cacheKeyOf = ({ operationId }: Route, input: Input): string =>
  `${operationId} ${JSON.stringify(Object.entries(input).sort())}`;

interface CompiledParameter {
  readonly name: string;
  readonly place: 'path' | 'query';
  readonly parameter: Parameter;
  readonly validate: ValidateFunction;
}

/** The maximum number of details in a response, so that its size does not grow with the request. */
const MOST_DETAILS = 20;

/** The response has the first of these codes that applies. Its `details` list all problems. */
const PRECEDENCE: readonly ErrorKind[] = [errors.unknown_parameter, errors.missing_parameter, errors.invalid_parameter];

interface ParsedInput {
  /** For the handler: without the framework's parameters. */
  readonly input: Input;
  readonly format: Format['name'] | undefined;
  readonly asOf: string | undefined;
}

/** Compiles the parameters of a route. The returned function throws an `ApiError` with status 400 for invalid input. */
export const compileInput = (route: Route, unknownParameters: 'reject' | 'ignore') => {
  const ofFramework = frameworkParameters(route);
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

  return (path: ReadonlyMap<string, string>, query: readonly (readonly [string, string])[]): ParsedInput => {
    const problems: ApiError[] = [];
    const given = new Map<string, string>();
    for (const [name, value] of query) {
      if (!queryNames.includes(name)) {
        if (unknownParameters === 'reject' && problems.length < MOST_DETAILS)
          problems.push(unknownParameter(name, queryNames));
      } else if (given.has(name)) problems.push(invalidParameter('query', name, 'must be given only once'));
      else given.set(name, value);
    }
    // Without a prototype, since a parameter may be called "constructor".
    const input: Record<string, Scalar | boolean> = Object.create(null);
    const framework: Record<string, Scalar | boolean> = {};
    for (const compiled of inPath) read(compiled, path.get(compiled.name), input, problems);
    for (const compiled of inQuery) {
      const isOfFramework = Object.hasOwn(ofFramework, compiled.name);
      read(compiled, given.get(compiled.name), isOfFramework ? framework : input, problems);
    }
    if (problems.length > 0) throw asError(problems);
    route.check?.(input);
    const normalized = route.kind === 'data' && route.normalize ? (route.normalize(input as never) as Input) : input;
    return {
      input: normalized,
      format: framework[FORMAT] as ParsedInput['format'],
      asOf: framework[AS_OF] as ParsedInput['asOf'],
    };
  };
};

const read = (
  { name, place, parameter, validate }: CompiledParameter,
  raw: string | undefined,
  input: Record<string, Scalar | boolean>,
  problems: ApiError[],
): void => {
  if (raw === undefined) {
    const fallback = parameter.schema['default'] as Scalar | boolean | undefined;
    if (fallback !== undefined) input[name] = fallback;
    else if (parameter.required) {
      const sentence = `The query parameter "${name}" is required: ${parameter.description}`;
      const details = [{ in: place, name, issue: 'is required' }];
      problems.push(new ApiError(errors.missing_parameter, sentence, { details }));
    }
    return;
  }
  const value = convert(raw, parameter.schema['type'] as string);
  if (value === undefined) {
    problems.push(invalidParameter(place, name, `must be ${article(parameter.schema['type'] as string)}`));
  } else if (validate(value)) {
    input[name] = value;
  } else {
    const issues = validate.errors?.map((error) => describe(error.keyword, error.schema, error.message)) ?? [];
    problems.push(invalidParameter(place, name, issues.join(' and ')));
  }
};

/** Accepts one spelling of a number: `5`, but not `05`, `+5`, `5.0` or ` 5`. */
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
  if (keyword === 'format' && schema === 'date') return 'must be a calendar date, such as 2024-01-31';
  return message;
};

const unknownParameter = (name: string, known: readonly string[]): ApiError => {
  const guess = nearest(name, known);
  const advice = guess
    ? `Did you mean "${guess}"?`
    : known.length > 0
      ? `It has: ${known.join(', ')}.`
      : 'It has no query parameters.';
  const issue = guess ? `is not known; did you mean "${guess}"?` : 'is not known';
  return new ApiError(errors.unknown_parameter, `This endpoint has no query parameter "${excerpt(name)}". ${advice}`, {
    details: [{ in: 'query', name: excerpt(name), issue }],
  });
};

const asError = (problems: readonly ApiError[]): ApiError => {
  const first = PRECEDENCE.flatMap((kind) => problems.filter((problem) => problem.kind === kind))[0]!;
  const details = problems.flatMap(({ options }) => options.details ?? []).slice(0, MOST_DETAILS);
  return new ApiError(first.kind, first.message, { details });
};
