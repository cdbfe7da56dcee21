/** The one way JSON Schemas are compiled: draft 2020-12 with formats, all faults at once. */
import { Ajv2020, type AnySchemaObject, type ErrorObject, type Options, type ValidateFunction } from 'ajv/dist/2020.js';
import ajvFormats from 'ajv-formats';

export type { ErrorObject, ValidateFunction };

const defaults: Options = { allErrors: true, strict: true, strictTypes: false, strictRequired: false, verbose: true };

export const createAjv = (options: Options = {}): Ajv2020 => {
  const ajv = new Ajv2020({ ...defaults, ...options });
  ajvFormats.default(ajv);
  // Annotations that OpenAPI 3.1 knows and JSON Schema does not.
  ajv.addVocabulary(['example']);
  // Marks a value of a configuration that must never be shown.
  ajv.addVocabulary(['x-secret']);
  // Names the environment variable that a value of a configuration may be given by.
  ajv.addVocabulary(['x-variable']);
  return ajv;
};

const compilers = new Map<string, Ajv2020>();

/** Compilers of the same options are one: each new one would compile the draft's own schema again, some 40 ms. */
const compilerWith = (options: Options): Ajv2020 => {
  const name = JSON.stringify(options);
  // Optimizing the generated code takes a third of the time, and these validators do not run often.
  const ajv = compilers.get(name) ?? createAjv({ ...options, code: { optimize: false } });
  compilers.set(name, ajv);
  return ajv;
};

/** The compiler does not keep the schema: another may have the same id, in another service of this process. */
export const compileWith = <T>(ajv: Ajv2020, schema: AnySchemaObject): ValidateFunction<T> => {
  const validate = ajv.compile<T>(schema);
  ajv.removeSchema(schema);
  return validate;
};

const compile = (schema: AnySchemaObject, options: Options): ValidateFunction => {
  // One compiler validates all schemas, so that the draft's own schema is compiled once.
  compilerWith({}).validateSchema(schema, true);
  return compileWith(compilerWith({ ...options, validateSchema: false }), schema);
};

/** By what was compiled: most schemas are those of a few parameters and identifiers, which routes have in common. */
const compiled = new Map<string, ValidateFunction>();

/** @throws for a schema that is not valid */
export const compileSchema = <T = unknown>(schema: AnySchemaObject, options: Options = {}): ValidateFunction<T> => {
  const text = JSON.stringify([schema, options]);
  const validate = compiled.get(text) ?? compile(schema, options);
  compiled.set(text, validate);
  return validate as ValidateFunction<T>;
};
