import type { Format } from '../contracts/format.js';
import type { JsonSchema } from '../contracts/json-schema.js';
import type { Parameter, ParameterValue, Route } from '../contracts/plugin.js';
import { operatorSchemas, splitFilter } from '../data/conditions.js';
import { compareScalars } from '../data/scalars.js';
import { ApiError, type ErrorKind, errors, invalidParameter } from '../errors.js';
import { excerpt } from '../keys/key.js';
import { AS_OF, FORMAT, frameworkParameters } from '../registry/route-defaults.js';
import { compileSchema, type ValidateFunction } from '../validation/compile-schema.js';
import { nearest } from '../validation/nearest.js';
import { convert, describe, MOST_LISTED, misfit } from './parameter-values.js';

/** The maximum number of query parameters, because even unknown parameters take time to parse. */
const MOST_PARAMETERS = 100;

interface Target {
  readonly path: string;
  readonly query: readonly (readonly [name: string, value: string])[];
}

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
 * Parses the target of a request. `URLSearchParams` would accept malformed percent-encoding, and `node:querystring`
 * would merge repeated parameters.
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

export type Input = Readonly<Record<string, ParameterValue>>;

/** Requests with the same cache key and format get the same response. */
export const cacheKeyOf = ({ operationId }: Route, input: Input): string =>
  `${operationId} ${JSON.stringify(Object.entries(input).sort())}`;

interface CompiledParameter {
  readonly name: string;
  readonly place: 'path' | 'query';
  readonly parameter: Parameter;
  readonly validate: ValidateFunction;
}

const FILTER_LIKE = /^([^[\]]+)(?:\[([^[\]]*)\]|_(from|to))$/i;

class QueryParameters {
  readonly #plain: ReadonlyMap<string, CompiledParameter>;
  readonly #filters: Readonly<Record<string, JsonSchema>>;
  readonly #compiled = new Map<string, CompiledParameter>();

  constructor({ parameters }: Route) {
    this.#plain = compileAll('query', parameters?.query);
    this.#filters = parameters?.filters ?? {};
  }

  get plain(): Iterable<CompiledParameter> {
    return this.#plain.values();
  }

  fullName(name: string): string {
    if (this.#plain.has(name)) return name;
    if (Object.hasOwn(this.#filters, name)) return `${name}[eq]`;
    const [, field, end] = /^(.+)_(from|to)$/.exec(name) ?? [];
    if (field === undefined || !Object.hasOwn(this.#filters, field)) return name;
    return `${field}[${end === 'from' ? 'gte' : 'lte'}]`;
  }

  find(name: string): CompiledParameter | undefined {
    const known = this.#plain.get(name) ?? this.#compiled.get(name);
    if (known) return known;
    const { field, operator } = splitFilter(name) ?? {};
    if (field === undefined || operator === undefined || !Object.hasOwn(this.#filters, field)) return undefined;
    const schemas: Readonly<Record<string, JsonSchema>> = operatorSchemas(this.#filters[field]!);
    // A client can send any text as an operator, including names of inherited properties such as "constructor".
    if (!Object.hasOwn(schemas, operator)) return undefined;
    const compiled = compileOne('query', name, { description: '', schema: schemas[operator]! });
    this.#compiled.set(name, compiled);
    return compiled;
  }

  namesLike(name: string): readonly string[] {
    const columns = Object.keys(this.#filters);
    const [, field, operator, end] = FILTER_LIKE.exec(name) ?? [];
    const column = field === undefined ? undefined : columns.includes(field) ? field : nearest(field, columns);
    const all = [...new Set([...this.#plain.keys(), ...columns])];
    if (column === undefined) return all;
    if (end !== undefined) return [...all, `${column}_${end}`];
    const operators = Object.keys(operatorSchemas(this.#filters[column]!));
    return operators
      .filter((each) => each === operator!.toLowerCase() || !operators.includes(operator!.toLowerCase()))
      .map((each) => `${column}[${each}]`);
  }
}

/** Compiles the schema on first use, so that the service starts faster. */
const compileOne = (place: 'path' | 'query', name: string, parameter: Parameter): CompiledParameter => {
  let validate: ValidateFunction | undefined;
  return {
    name,
    place,
    parameter,
    get validate() {
      validate ??= compileSchema(parameter.schema);
      return validate;
    },
  };
};

const compileAll = (place: 'path' | 'query', parameters: Readonly<Record<string, Parameter>> = {}) =>
  new Map(Object.entries(parameters).map(([name, parameter]) => [name, compileOne(place, name, parameter)]));

/** The maximum number of problems in an error response, whose size must not grow with the request. */
const MOST_DETAILS = 20;

/** Maximum number of invalid values to report per parameter. A list can contain thousands of them. */
const MOST_ISSUES = 3;

/**
 * Error codes, highest precedence first. If a request has several problems, the response uses the code with the highest
 * precedence. `details` lists all problems.
 */
const PRECEDENCE: readonly ErrorKind[] = [errors.unknown_parameter, errors.missing_parameter, errors.invalid_parameter];

interface ParsedInput {
  readonly input: Input;
  readonly format: Format['name'] | undefined;
  readonly asOf: string | undefined;
}

export const compileInput = (route: Route, unknownParameters: 'reject' | 'ignore') => {
  const ofFramework = frameworkParameters(route);
  const inPath = compileAll('path', route.parameters?.path);
  const inQuery = new QueryParameters(route);

  return (path: ReadonlyMap<string, string>, query: readonly (readonly [string, string])[]): ParsedInput => {
    const problems: ApiError[] = [];
    const given = new Map<string, { readonly sent: string; readonly value: string }>();
    for (const [sent, value] of query) {
      const name = inQuery.fullName(sent);
      if (!inQuery.find(name)) {
        if (unknownParameters === 'reject' && problems.length < MOST_DETAILS)
          problems.push(unknownParameter(sent, inQuery.namesLike(sent)));
      } else if (given.has(name)) {
        const isList = inQuery.find(name)!.parameter.schema['type'] === 'array';
        const advice = isList ? ', with its values separated by commas' : '';
        problems.push(invalidParameter('query', sent, `must be given only once${advice}`));
      } else given.set(name, { sent, value });
    }
    // The object has no prototype, because a parameter can have the name "constructor".
    const input: Record<string, ParameterValue> = Object.create(null);
    const framework: Record<string, ParameterValue> = {};
    for (const compiled of inPath.values()) read(compiled, path.get(compiled.name), input, problems);
    for (const compiled of inQuery.plain) {
      const isOfFramework = Object.hasOwn(ofFramework, compiled.name);
      read(compiled, given.get(compiled.name)?.value, isOfFramework ? framework : input, problems);
      given.delete(compiled.name);
    }
    for (const [name, { sent, value }] of given) {
      read(inQuery.find(name)!, value, input, problems, sent);
      const list = input[name];
      // Lists are sorted, so that requests with the same values share a cache key.
      if (Array.isArray(list)) list.sort(compareScalars);
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
  compiled: CompiledParameter,
  raw: string | undefined,
  input: Record<string, ParameterValue>,
  problems: ApiError[],
  sent = compiled.name,
): void => {
  const { name, place, parameter } = compiled;
  if (raw === undefined) {
    const fallback = parameter.schema['default'] as ParameterValue | undefined;
    if (fallback !== undefined) input[name] = fallback;
    else if (parameter.required) {
      const sentence = `The query parameter "${name}" is required: ${parameter.description}`;
      const details = [{ in: place, name, issue: 'is required' }];
      problems.push(new ApiError(errors.missing_parameter, sentence, { details }));
    }
    return;
  }
  const value = convert(raw, parameter.schema);
  if (value === undefined) {
    const several = severalValues(name, raw);
    problems.push(invalidParameter(place, sent, `${misfit(raw, parameter.schema)}${several}`));
  } else if (compiled.validate(value)) {
    input[name] = value;
  } else if (parameter.allowed !== undefined && value !== '') {
    problems.push(invalidParameter(place, sent, `must be ${parameter.allowed}`));
  } else {
    const issues = new Set(compiled.validate.errors?.slice(0, MOST_ISSUES).map(describe));
    problems.push(invalidParameter(place, sent, [...issues].join(' and ')));
  }
};

/** The filter `eq` allows only one value, and the filter `in` allows several. */
const severalValues = (name: string, raw: string): string => {
  const { field, operator } = splitFilter(name) ?? {};
  return operator === 'eq' && raw.includes(',') ? `; for several values, use ${field}[in]` : '';
};

const unknownParameter = (name: string, known: readonly string[]): ApiError => {
  const guess = name.trim() === '' ? undefined : nearest(name, known);
  const advice = guess
    ? `Did you mean "${guess}"?`
    : known.length > MOST_LISTED
      ? 'See the OpenAPI document for its parameters.'
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
