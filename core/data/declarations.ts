import { existsSync, readdirSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Collection } from '../contracts/dataset.js';
import { OperatorError } from '../errors.js';
import { fileErrorReason } from '../util/error-reason.js';
import { readRegularSync } from '../util/read-file.js';
import { compileSchema } from '../validation/compile-schema.js';
import { findJsonError, formatJsonError, withoutMark } from '../validation/json.js';

export const DECLARATION = '.collection.json';

/** The maximum size of a collection declaration. A declaration with 20,000 columns needs about 2 MiB. */
const MAX_BYTES = 16 * 1024 * 1024;

const FIELDS = { type: 'array', items: { type: 'string' }, minItems: 1 };
const validate = compileSchema({
  type: 'object',
  required: ['name', 'key', 'schema'],
  additionalProperties: false,
  properties: {
    $schema: { type: 'string' },
    name: { type: 'string' },
    key: FIELDS,
    orders: { type: 'array', items: FIELDS },
    search: FIELDS,
    schema: { type: 'object' },
  },
});

const isFile = (path: string): boolean => statSync(path, { throwIfNoEntry: false })?.isFile() === true;

/** @throws OperatorError if the directory cannot be read */
export const hasDeclarations = (directory: string): boolean => {
  if (!existsSync(directory)) return false;
  if (isFile(directory)) throw new OperatorError(`${directory} is a file; name a folder`);
  return reading(directory, () => readdirSync(directory)).some((name) => name.endsWith(DECLARATION));
};

/** @throws OperatorError if there are no declarations, or if one is invalid */
export const readDeclarations = (directory: string): Collection[] => {
  if (reading(directory, () => isFile(directory))) {
    throw new OperatorError(
      `${directory} is a file; use ${dirname(directory)}, the folder of the declarations (NAME${DECLARATION})`,
    );
  }
  const files = reading(directory, () => readdirSync(directory)).filter((name) => name.endsWith(DECLARATION));
  if (files.length === 0) {
    throw new OperatorError(
      `${directory} contains no declaration (NAME${DECLARATION}); "metro-forecast import-table" creates one`,
    );
  }
  return files.sort().map((file) => declarationIn(join(directory, file)));
};

/** Returns undefined if the collection is not declared. @throws OperatorError if its declaration is invalid */
export const readDeclaration = (directory: string, name: string): Collection | undefined => {
  const path = join(directory, name + DECLARATION);
  return existsSync(path) ? declarationIn(path) : undefined;
};

const declarationIn = (path: string): Collection => {
  const text = withoutMark(reading(path, () => readRegularSync(path, MAX_BYTES)));
  const error = findJsonError(text);
  if (error) throw new OperatorError(`${path}, ${formatJsonError(error)}`);
  const declared = JSON.parse(text) as Collection & { readonly $schema?: string };
  if (!validate(declared)) {
    const [{ instancePath, message } = { instancePath: '', message: 'is not valid' }] = validate.errors ?? [];
    throw new OperatorError(`${path} is not a valid declaration: ${instancePath || 'the whole'} ${message}`);
  }
  const { $schema: _, ...collection } = declared;
  return collection;
};

const reading = <T>(path: string, read: () => T): T => {
  try {
    return read();
  } catch (cause) {
    throw new OperatorError(`${path} cannot be read: ${fileErrorReason(cause)}`, [], { cause });
  }
};
