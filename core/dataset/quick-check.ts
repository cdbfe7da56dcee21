/** A check of one document by its schema that only says yes or no, made for very many documents. */

import { memoize } from '../cache/lru-map.js';
import type { Document } from '../contracts/dataset.js';
import type { JsonSchema } from '../contracts/json-schema.js';
import { compileWith, createAjv } from '../validation/compile-schema.js';

type Check = (document: Document) => boolean;

/** Most dates of a dataset are there many times; looking one up takes a fraction of checking it. */
const REPEATING = ['date', 'date-time'];
const REMEMBERED = 10_000;

const createCompiler = () => {
  // A schema was checked when its plugin was registered, which takes longer than all of this.
  const ajv = createAjv({ allErrors: false, verbose: false, validateSchema: false });
  for (const name of REPEATING) {
    const format = ajv.formats[name] as { validate: (text: string) => boolean };
    ajv.addFormat(name, { type: 'string', validate: memoize(format.validate, REMEMBERED) });
  }
  return ajv;
};

let compiler: ReturnType<typeof createCompiler> | undefined;

const compile = (schema: JsonSchema): Check => {
  compiler ??= createCompiler();
  return compileWith<Document>(compiler, schema);
};

const compiled = new WeakMap<JsonSchema, Check>();

/** Compiled once for each schema: a dataset is checked again with every version. */
export const quickCheck = (schema: JsonSchema): Check => {
  const check = compiled.get(schema) ?? compile(schema);
  compiled.set(schema, check);
  return check;
};
