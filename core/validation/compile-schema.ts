/** Compiles JSON Schemas: draft 2020-12 with formats. Validators collect all errors. */
import { Ajv2020, type AnySchemaObject, type ErrorObject, type Options, type ValidateFunction } from 'ajv/dist/2020.js';
import ajvFormats from 'ajv-formats';

export type { ErrorObject, ValidateFunction };

const defaults: Options = { allErrors: true, strict: true, strictTypes: false, strictRequired: false, verbose: true };

export const createAjv = (options: Options = {}): Ajv2020 => {
  const ajv = new Ajv2020({ ...defaults, ...options });
  ajvFormats.default(ajv);
  // An annotation of OpenAPI 3.1.
  ajv.addVocabulary(['example']);
  // Marks a configuration value that must never be shown.
  ajv.addVocabulary(['x-secret']);
  // Names the environment variable of a configuration value.
  ajv.addVocabulary(['x-variable']);
  return ajv;
};

const compilers = new Map<string, Ajv2020>();

/** Compilers are shared: each new one compiles the schema of the draft again, which takes about 40 ms. */
const compilerWith = (options: Options): Ajv2020 => {
  const name = JSON.stringify(options);
  // Optimizing the code takes a third of the time, and these validators run rarely.
  const ajv = compilers.get(name) ?? createAjv({ ...options, code: { optimize: false } });
  compilers.set(name, ajv);
  return ajv;
};

/** The compiler does not keep the schema: another service of this process may have a schema with the same id. */
export const compileWith = <T>(ajv: Ajv2020, schema: AnySchemaObject): ValidateFunction<T> => {
  const validate = ajv.compile<T>(schema);
  ajv.removeSchema(schema);
  return validate;
};

const compile = (schema: AnySchemaObject, options: Options): ValidateFunction => {
  // One compiler validates all schemas, so that the schema of the draft is compiled once.
  compilerWith({}).validateSchema(schema, true);
  return compileWith(compilerWith({ ...options, validateSchema: false }), schema);
};

/** By schema and options. Routes share most schemas of parameters. */
const compiled = new Map<string, ValidateFunction>();

/** @throws Error for an invalid schema */
export const compileSchema = <T = unknown>(schema: AnySchemaObject, options: Options = {}): ValidateFunction<T> => {
  const text = JSON.stringify([schema, options]);
  const validate = compiled.get(text) ?? compile(schema, options);
  compiled.set(text, validate);
  return validate as ValidateFunction<T>;
};
