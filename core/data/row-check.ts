import type { Collection, Document, Manifest } from '../contracts/dataset.js';
import type { JsonRows } from '../contracts/storage.js';
import { compileSchema } from '../validation/compile-schema.js';
import { nonFinitePath } from '../validation/json.js';
import { type DataError, schemaErrors } from './data-errors.js';
import { JsonFields } from './json-fields.js';
import { rowPattern } from './row-pattern.js';
import { compareBy } from './scalars.js';

export interface Target {
  readonly keys: Set<string>;
  complete: boolean;
}

const keyText = (document: Document, fields: readonly string[]): string =>
  fields.length === 1 ? String(document[fields[0] as string]) : JSON.stringify(fields.map((field) => document[field]));

const MAX_SHOWN = 100;

const shown = (document: Document, key: readonly string[]): string => {
  const text = keyText(document, key);
  return text.length > MAX_SHOWN ? `${text.slice(0, MAX_SHOWN)}…` : text;
};

type OnError = (row: number, field: string | null, rule: string) => void;

interface Check {
  add(document: Document, row: number): void;
  /** Reports references without a target. Must be called after the rows of all collections have been added. */
  finish(): void;
}

export interface RowCheck extends Check {
  /** Checks rows without parsing them. Returns false if a row might have an error, which `add` then reports. */
  addText(rows: JsonRows): boolean;
  /** Returns true only if all rows are known to conform to the schema. */
  matches(rows: JsonRows): boolean;
}

const referenceCheck = (fields: readonly string[], to: string, target: Target, onError: OnError): Check => {
  /** The last reference whose target was found. Consecutive rows often have the same reference. */
  let last: string | undefined;
  /**
   * References whose target has not been read yet. The target can be a later row of this collection, or a row of a
   * collection that refers to this one.
   */
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

export const rowCheck = (
  collection: Collection,
  manifest: Pick<Manifest, 'created'>,
  file: string,
  targets: ReadonlyMap<string, Target>,
  report: (error: DataError) => void,
): RowCheck => {
  const { name, schema, key, references = [] } = collection;
  const onError: OnError = (row, field, rule) => report({ file, row, field, rule });
  const isValid = compileSchema<Document>(schema);
  const compare = compareBy(key);
  const target = targets.get(name);
  const ofReferences = references.map(({ fields, to }) => referenceCheck(fields, to, targets.get(to)!, onError));
  const matches = rowPattern(schema) ?? (() => false);
  const needsDocuments = target !== undefined || references.length > 0 || collection.check !== undefined;
  let [keys, previousKeys] = [new JsonFields(key), new JsonFields(key)];
  let previous: Document | undefined;

  const checkOrder = (before: Document, document: Document, row: number): void => {
    const order = compare(before, document);
    if (order === 0) onError(row, key.join('+'), `has the same key as the previous row: ${shown(document, key)}`);
    if (order > 0) onError(row, key.join('+'), `must come after ${shown(before, key)}: rows must be in key order`);
  };

  return {
    matches,
    addText(rows) {
      if (needsDocuments || !matches(rows)) return false;
      const { json, ends } = rows;
      if (previous && compare(previous, keys.document(json, 0)) >= 0) return false;
      let start = 0;
      for (const end of ends) {
        keys.find(json, start);
        if (start > 0 && previousKeys.compareFound(json, keys) >= 0) return false;
        [keys, previousKeys] = [previousKeys, keys];
        start = end + 1;
      }
      previous = keys.document(json, ends.length > 1 ? ends.at(-2)! + 1 : 0);
      return true;
    },
    add(document, row) {
      if (!isValid(document)) {
        for (const { field, rule } of schemaErrors(isValid.errors, document)) onError(row, field, rule);
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
