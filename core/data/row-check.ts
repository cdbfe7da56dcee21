/** Checks the rows of one collection, given one after the other in their order. */

import type { Collection, Document, Manifest } from '../contracts/dataset.js';
import type { JsonSchema } from '../contracts/json-schema.js';
import { memoize } from '../util/lru-map.js';
import { compileSchema, compileWith, createAjv, type ValidateFunction } from '../validation/compile-schema.js';
import { nonFinitePath } from '../validation/json.js';
import { type DataError, schemaErrors } from './data-errors.js';
import { compareBy } from './scalars.js';

type QuickCheck = (document: Document) => boolean;

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

const compile = (schema: JsonSchema): QuickCheck => {
  compiler ??= createCompiler();
  return compileWith<Document>(compiler, schema);
};

const compiled = new WeakMap<JsonSchema, QuickCheck>();

/**
 * A check of documents that only says yes or no, made for very many of them. It is compiled once for each schema, since
 * a dataset is checked again with every version.
 */
export const quickCheck = (schema: JsonSchema): QuickCheck => {
  const check = compiled.get(schema) ?? compile(schema);
  compiled.set(schema, check);
  return check;
};

/** The keys of a collection that others refer to, once all of them are known. */
export interface Target {
  readonly keys: Set<string>;
  complete: boolean;
}

const keyText = (document: Document, fields: readonly string[]): string =>
  fields.length === 1 ? String(document[fields[0] as string]) : JSON.stringify(fields.map((field) => document[field]));

type OnError = (row: number, field: string | null, rule: string) => void;

export interface RowCheck {
  add(document: Document, row: number): void;
  /** To be called when the rows of all collections have been added. */
  finish(): void;
}

/** Checks one reference of a collection, row by row. */
const referenceCheck = (fields: readonly string[], to: string, target: Target, onError: OnError): RowCheck => {
  /** Neighbouring rows mostly refer to the same document. */
  let last: string | undefined;
  /** References to rows that may still come: in the same collection, or in a collection that refers back. */
  const waiting: { readonly row: number; readonly value: string }[] = [];
  const report = (row: number, value: string): void =>
    onError(row, fields.join('+'), `refers to ${value}, which is not in "${to}"`);
  return {
    add(document, row) {
      const value = keyText(document, fields);
      if (value === last) return;
      if (target.keys.has(value)) last = value;
      else if (target.complete) report(row, value);
      else waiting.push({ row, value });
    },
    finish() {
      for (const { row, value } of waiting) if (!target.keys.has(value)) report(row, value);
    },
  };
};

/** @param targets of every collection that is referred to */
export const rowCheck = (
  collection: Collection,
  manifest: Pick<Manifest, 'created'>,
  file: string,
  targets: ReadonlyMap<string, Target>,
  report: (fault: DataError) => void,
): RowCheck => {
  const { name, schema, key, references = [] } = collection;
  const onError: OnError = (row, field, rule) => report({ file, row, field, rule });
  const isSound = quickCheck(schema);
  const compare = compareBy(key);
  const target = targets.get(name);
  const ofReferences = references.map(({ fields, to }) => referenceCheck(fields, to, targets.get(to)!, onError));
  /** Gathers every fault; compiled for the first row that has one. */
  let explain: ValidateFunction | undefined;
  let previous: Document | undefined;

  const checkOrder = (before: Document, document: Document, row: number): void => {
    const order = compare(before, document);
    if (order === 0) onError(row, key.join('+'), `has the same key as the row before: ${keyText(document, key)}`);
    if (order > 0) onError(row, key.join('+'), `must come after ${keyText(before, key)}: rows are in key order`);
  };

  return {
    add(document, row) {
      if (!isSound(document)) {
        explain ??= compileSchema(schema);
        explain(document);
        for (const { field, rule } of schemaErrors(explain.errors, document)) onError(row, field, rule);
        return;
      }
      const infinite = nonFinitePath(document);
      if (infinite) onError(row, infinite.join('.'), 'must be a finite number');
      if (previous) checkOrder(previous, document, row);
      previous = document;
      target?.keys.add(keyText(document, key));
      for (const reference of ofReferences) reference.add(document, row);
      const checked = collection.check?.(document, manifest);
      if (checked) onError(row, checked.field, checked.rule);
    },
    finish() {
      for (const reference of ofReferences) reference.finish();
    },
  };
};
