/** Whether a dataset keeps every rule: schemas, keys, order, references, and what collections check themselves. */
import type { Collection, Document } from '../contracts/dataset.js';
import type { Dataset } from '../contracts/storage.js';
import { nearest } from '../nearest.js';
import { compileSchema } from '../schema.js';
import { compareBy } from '../storage/compare.js';
import { DirectoryDataset } from './directory.js';
import { type Fault, FaultList } from './fault.js';
import { MANIFEST_FILE } from './manifest.js';
import type { Rows } from './ndjson.js';

export interface CheckOptions {
  /** How many faults to keep; all are counted. Default 100. */
  readonly maxFaults?: number;
  readonly onProgress?: (progress: { collection: string; rows: number; total: number | undefined }) => void;
  /** Given each sound batch of rows, in key order: what is checked need not be read again. */
  readonly onRows?: (collection: Collection, documents: readonly Document[]) => void;
}

/** @returns the kept faults; empty when the dataset is sound */
export const validateDataset = async (
  dataset: Dataset,
  collections: ReadonlyMap<string, Collection>,
  options: CheckOptions = {},
): Promise<readonly Fault[]> => (await checkDataset(dataset, collections, options)).kept;

/** Reads everything once. */
export const checkDataset = async (
  dataset: Dataset,
  collections: ReadonlyMap<string, Collection>,
  { maxFaults = 100, onProgress, onRows }: CheckOptions = {},
): Promise<FaultList> => {
  const faults = new FaultList(maxFaults);
  const targets = new Map<string, Set<string>>();
  for (const { to } of [...collections.values()].flatMap(({ references = [] }) => references))
    targets.set(to, new Set());
  if (dataset instanceof DirectoryDataset) checkNames(dataset, collections, faults);

  for (const collection of referencedFirst(collections)) {
    const { name } = collection;
    const described = dataset instanceof DirectoryDataset ? dataset.fileOf(name) : undefined;
    const check = rowChecker(collection, described?.file ?? name, targets, faults);
    let rows = 0;
    for await (const batch of rowsOf(dataset, name, faults)) {
      const before = faults.total;
      for (const [index, document] of batch.documents.entries()) {
        if (document) check(document, batch.firstRow + index);
      }
      rows += batch.documents.length;
      onProgress?.({ collection: name, rows, total: described?.rows });
      if (faults.total === before && faults.total === 0) onRows?.(collection, batch.documents as readonly Document[]);
    }
  }
  return faults;
};

async function* rowsOf(dataset: Dataset, collection: string, faults: FaultList): AsyncGenerator<Rows> {
  if (dataset instanceof DirectoryDataset) {
    yield* dataset.rows(collection, (fault) => faults.add(fault));
    return;
  }
  let firstRow = 1;
  for await (const documents of dataset.read(collection)) {
    yield { firstRow, documents };
    firstRow += documents.length;
  }
}

/** Every declared collection must be there; others are nobody's, unless they look like a mistyped one. */
const checkNames = (
  { manifest }: DirectoryDataset,
  collections: ReadonlyMap<string, Collection>,
  faults: FaultList,
) => {
  const present = Object.keys(manifest.collections);
  const strangers = present.filter((name) => !collections.has(name));
  for (const name of collections.keys()) {
    if (present.includes(name)) continue;
    const guess = nearest(name, strangers);
    const rule = `is missing${guess ? `; there is "${guess}"` : ': add it, with an empty file if it has no rows'}`;
    faults.add({ file: MANIFEST_FILE, row: null, field: `collections.${name}`, rule });
  }
};

/** So that the keys are known before they are referred to. */
const referencedFirst = (collections: ReadonlyMap<string, Collection>): Collection[] => {
  const ordered = new Set<Collection>();
  const visit = (collection: Collection | undefined, path: readonly Collection[]): void => {
    if (!collection || ordered.has(collection) || path.includes(collection)) return;
    for (const { to } of collection.references ?? []) visit(collections.get(to), [...path, collection]);
    ordered.add(collection);
  };
  for (const collection of collections.values()) visit(collection, []);
  return [...ordered];
};

const keyText = (document: Document, fields: readonly string[]): string =>
  fields.length === 1 ? String(document[fields[0]!]) : JSON.stringify(fields.map((field) => document[field]));

const rowChecker = (
  collection: Collection,
  file: string,
  targets: ReadonlyMap<string, Set<string>>,
  faults: FaultList,
) => {
  const { key, references = [] } = collection;
  // The quick one only says yes or no; the other, which gathers every fault, runs on the few rows that fail.
  const isSound = compileSchema(collection.schema, { allErrors: false, verbose: false });
  const explain = compileSchema(collection.schema);
  const compare = compareBy(key);
  const own = targets.get(collection.name);
  const known = references.map(({ fields, to }) => ({ fields, to, keys: targets.get(to)!, last: '' }));
  let previous: Document | undefined;

  return (document: Document, row: number): void => {
    const fault = (field: string | null, rule: string) => faults.add({ file, row, field, rule });
    if (!isSound(document)) {
      explain(document);
      for (const { instancePath, keyword, params, message, data, schema } of explain.errors ?? []) {
        const inner = instancePath.slice(1).replaceAll('/', '.');
        const missing = params['missingProperty'] ?? params['additionalProperty'];
        const field = missing === undefined ? inner : [inner, missing].filter(Boolean).join('.');
        fault(field || null, rowRule(keyword, message, data, schema));
      }
      return;
    }
    const infinite = infiniteField(document);
    if (infinite) fault(infinite, 'must be a finite number');
    if (previous) {
      const order = compare(previous, document);
      if (order === 0) fault(key.join('+'), `has the same key as the row before: ${keyText(document, key)}`);
      if (order > 0) fault(key.join('+'), `must come after ${keyText(previous, key)}: rows are in key order`);
    }
    previous = document;
    own?.add(keyText(document, key));
    for (const reference of known) {
      const value = keyText(document, reference.fields);
      // Neighbouring rows mostly refer to the same document.
      if (value === reference.last) continue;
      if (reference.keys.has(value)) reference.last = value;
      else fault(reference.fields.join('+'), `refers to ${value}, which is not in "${reference.to}"`);
    }
    const checked = collection.check?.(document);
    if (checked) fault(checked.field, checked.rule);
  };
};

const rowRule = (keyword: string, message = 'is not valid', data: unknown, schema: unknown): string => {
  if (keyword === 'required') return 'is missing';
  if (keyword === 'additionalProperties') return 'is not a field of this collection';
  if (typeof data === 'number' && !Number.isFinite(data)) return 'must be a finite number';
  if (keyword === 'enum') return `must be one of ${(schema as unknown[]).join(', ')}; it is ${shown(data)}`;
  return `${message}; it is ${shown(data)}`;
};

const shown = (value: unknown): string => {
  const text = JSON.stringify(value) ?? String(value);
  return text.length > 60 ? `${text.slice(0, 60)}…` : text;
};

/** JSON has no infinities, but 1e999 is read as one. Typed fields are covered by the schema; this finds the others. */
const infiniteField = (value: unknown, path = ''): string | undefined => {
  if (typeof value === 'number') return Number.isFinite(value) ? undefined : path;
  if (typeof value !== 'object' || value === null) return undefined;
  for (const name in value) {
    const inner = (value as Record<string, unknown>)[name];
    if (typeof inner !== 'number' && typeof inner !== 'object') continue;
    const found = infiniteField(inner, path === '' ? name : `${path}.${name}`);
    if (found) return found;
  }
  return undefined;
};
