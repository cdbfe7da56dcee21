/**
 * Collects all errors, because an Ajv validator that stops at the first error overflows the stack at about 1,600
 * properties.
 */
import { Ajv2020, type AnySchemaObject, type ErrorObject, type Options, type ValidateFunction } from 'ajv/dist/2020.js';
import ajvFormats from 'ajv-formats';
import { memoize } from '../util/lru-map.js';

export type { ErrorObject, ValidateFunction };

const defaults: Options = {
  allErrors: true,
  strict: true,
  strictTypes: false,
  strictRequired: false,
  verbose: true,
  // Ajv does not validate schemas here, because compiling the meta-schema takes 30 ms. `assertSchema` validates
  // schemas.
  validateSchema: false,
  // Optimized code takes twice as long to compile and is no faster.
  code: { optimize: false },
};

/** Most dates in a dataset occur many times, and a cache lookup is much faster than the check. */
const REPEATED_FORMATS = ['date', 'date-time'];
const REMEMBERED = 10_000;

const createCompiler = (options: Options): Ajv2020 => {
  const ajv = new Ajv2020({ ...defaults, ...options });
  ajvFormats.default(ajv);
  for (const name of REPEATED_FORMATS) {
    const format = ajv.formats[name] as { validate: (text: string) => boolean };
    ajv.addFormat(name, { type: 'string', validate: memoize(format.validate, REMEMBERED) });
  }
  ajv.addVocabulary(['example']);
  // `x-unit` is the unit of a column, for documentation.
  ajv.addVocabulary(['x-unit']);
  // `x-secret` marks a configuration value as secret, so that it is never shown.
  ajv.addVocabulary(['x-secret']);
  // `x-variable` is the environment variable for a configuration value.
  ajv.addVocabulary(['x-variable']);
  return ajv;
};

const compilers = new Map<string, Ajv2020>();

const compilerWith = (options: Options): Ajv2020 => {
  const name = JSON.stringify(options);
  const ajv = compilers.get(name) ?? createCompiler(options);
  compilers.set(name, ajv);
  return ajv;
};

/**
 * Matches schemas with a property that has an inherited name, such as "constructor". Only these schemas need the slower
 * check for own properties.
 */
const INHERITED = new RegExp(`"(${Object.getOwnPropertyNames(Object.prototype).join('|')})":`);

const compile = (schema: AnySchemaObject, options: Options): ValidateFunction => {
  const hasInherited = INHERITED.test(JSON.stringify(schema));
  const compiler = compilerWith(hasInherited ? { ...options, ownProperties: true } : options);
  const validate = compiler.compile(schema);
  // The schema is removed from Ajv, because another service in this process might use the same schema id.
  compiler.removeSchema(schema);
  return validate;
};

export const assertSchema = (schema: AnySchemaObject): void => {
  compilerWith({}).validateSchema(schema, true);
};

/** Validators are cached, because most parameter schemas occur in several routes. */
const compiled = new Map<string, ValidateFunction>();

export const compileSchema = <T = unknown>(schema: AnySchemaObject, options: Options = {}): ValidateFunction<T> => {
  const text = JSON.stringify([schema, options]);
  const validate = compiled.get(text) ?? compile(schema, options);
  compiled.set(text, validate);
  return validate as ValidateFunction<T>;
};
