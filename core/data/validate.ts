import type { Collection, Manifest } from '../contracts/dataset.js';
import type { Dataset } from '../contracts/storage.js';
import { nearest } from '../validation/nearest.js';
import { type DataError, ErrorList } from './data-errors.js';
import { DirectoryDataset } from './directory.js';
import { MANIFEST_FILE } from './manifest.js';
import type { Rows } from './ndjson.js';
import { type RowCheck, rowCheck, type Target } from './row-check.js';

interface CheckOptions {
  readonly maxErrors?: number;
  readonly onProgress?: (progress: { collection: string; rows: number; total: number | undefined }) => void;
  /** Called with each batch, in key order, until an error is found. */
  readonly onRows?: (collection: Collection, rows: Rows) => void;
  /** True if the same rows have already been checked. If true, only their JSON syntax is checked. Default: false. */
  readonly checked?: boolean;
  readonly pause?: () => Promise<unknown>;
}

/**
 * Checks a dataset. Stops when the error list is full. A directory without errors is marked as valid.
 * @throws StorageError with the code `unavailable` after a read error that might be temporary
 */
export const checkDataset = async (
  dataset: Dataset,
  collections: ReadonlyMap<string, Collection>,
  { maxErrors = 100, checked = false, onProgress, onRows, pause }: CheckOptions = {},
): Promise<ErrorList> => {
  const directory = dataset instanceof DirectoryDataset ? dataset : undefined;
  const check = new DatasetCheck(
    collections,
    dataset.manifest,
    maxErrors,
    (name) => directory?.fileOf(name)?.file ?? name,
  );
  const report = (error: DataError): void => check.errors.add(error);
  if (directory) checkNames(directory, collections, report);

  for (const collection of check.order) {
    const { name } = collection;
    const total = directory?.fileOf(name)?.rows;
    let rows = 0;
    for await (const batch of rowsOf(dataset, name, report)) {
      if (checked) check.addChecked(name, batch);
      else check.add(name, batch);
      rows += batch.count;
      onProgress?.({ collection: name, rows, total });
      if (check.errors.isFull) return check.errors;
      if (check.errors.total === 0) onRows?.(collection, batch);
      await pause?.();
    }
    check.complete(name);
  }
  const errors = check.finish();
  if (errors.total === 0) directory?.markValid(collections);
  return errors;
};

async function* rowsOf(dataset: Dataset, collection: string, report: (error: DataError) => void): AsyncGenerator<Rows> {
  if (dataset instanceof DirectoryDataset) {
    yield* dataset.rows(collection, report);
    return;
  }
  let firstRow = 1;
  for await (const documents of dataset.read(collection)) {
    yield { firstRow, count: documents.length, documents };
    firstRow += documents.length;
  }
}

const checkNames = (
  { manifest }: DirectoryDataset,
  collections: ReadonlyMap<string, Collection>,
  report: (error: DataError) => void,
): void => {
  const present = Object.keys(manifest.collections);
  const undeclared = present.filter((name) => !collections.has(name));
  for (const name of collections.keys()) {
    if (present.includes(name)) continue;
    const guess = nearest(name, undeclared);
    const rule = `is missing${guess ? `; there is "${guess}"` : ': add it, with an empty file if it has no rows'}`;
    report({ file: MANIFEST_FILE, row: null, field: `collections.${name}`, rule });
  }
};

export class DatasetCheck {
  readonly order: readonly Collection[];
  readonly errors: ErrorList;
  readonly #targets: ReadonlyMap<string, Target>;
  readonly #checks: ReadonlyMap<string, RowCheck>;

  constructor(
    collections: ReadonlyMap<string, Collection>,
    manifest: Pick<Manifest, 'created'>,
    maxErrors = 100,
    fileOf: (collection: string) => string = (name) => name,
  ) {
    this.errors = new ErrorList(maxErrors);
    this.order = referencedFirst(collections);
    const targets = targetsOf(collections);
    const check = (collection: Collection) =>
      rowCheck(collection, manifest, fileOf(collection.name), targets, (error) => this.errors.add(error));
    this.#targets = targets;
    this.#checks = new Map(this.order.map((collection) => [collection.name, check(collection)]));
  }

  /** Undefined rows are skipped, because the reader has already reported them. */
  add(collection: string, rows: Pick<Rows, 'firstRow' | 'documents' | 'text'>): void {
    const check = this.#checks.get(collection) as RowCheck;
    if (rows.text && check.addText(rows.text)) return;
    const { firstRow, documents } = rows;
    for (let i = 0; i < documents.length && !this.errors.isFull; i++) {
      const document = documents[i];
      if (document) check.add(document, firstRow + i);
    }
  }

  addChecked(collection: string, rows: Rows): void {
    const isJson = rows.text && (this.#checks.get(collection) as RowCheck).matches(rows.text);
    // Reading `documents` parses the rows and reports their errors.
    if (!isJson) void rows.documents;
  }

  complete(collection: string): void {
    const target = this.#targets.get(collection);
    if (target) target.complete = true;
  }

  finish(): ErrorList {
    for (const check of this.#checks.values()) check.finish();
    return this.errors;
  }
}

const targetsOf = (collections: ReadonlyMap<string, Collection>): ReadonlyMap<string, Target> =>
  new Map(
    [...collections.values()]
      .flatMap(({ references = [] }) => references)
      .map(({ to }) => [to, { keys: new Set<string>(), complete: !collections.has(to) }]),
  );

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
