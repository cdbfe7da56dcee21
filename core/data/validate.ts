/** Whether a dataset keeps every rule: schemas, keys, order, references, and what collections check themselves. */
import type { Collection, Document, Manifest } from '../contracts/dataset.js';
import type { Dataset } from '../contracts/storage.js';
import { nearest } from '../validation/nearest.js';
import { type DataError, ErrorList } from './data-errors.js';
import { DirectoryDataset } from './directory.js';
import { MANIFEST_FILE } from './manifest.js';
import type { Rows } from './ndjson.js';
import { type RowCheck, rowCheck, type Target } from './row-check.js';

interface CheckOptions {
  /** How many faults to keep; all are counted. Default 100. */
  readonly maxErrors?: number;
  readonly onProgress?: (progress: { collection: string; rows: number; total: number | undefined }) => void;
  /** Gets each valid batch, in key order, so that it need not be read again. `lines`: as in `Rows`. */
  readonly onRows?: (collection: Collection, documents: readonly Document[], lines: Rows['lines']) => void;
  /** Awaited after each batch, so that other work can run. */
  readonly pause?: () => Promise<unknown>;
}

/**
 * Reads all declared collections once, and never stops at a fault.
 * @throws StorageError `unavailable` when reading failed for a reason that may pass; what `dataset.read` throws
 */
export const checkDataset = async (
  dataset: Dataset,
  collections: ReadonlyMap<string, Collection>,
  { maxErrors = 100, onProgress, onRows, pause }: CheckOptions = {},
): Promise<ErrorList> => {
  const directory = dataset instanceof DirectoryDataset ? dataset : undefined;
  const check = new DatasetCheck(
    collections,
    dataset.manifest,
    maxErrors,
    (name) => directory?.fileOf(name)?.file ?? name,
  );
  const report = (fault: DataError): void => check.report(fault);
  if (directory) checkNames(directory, collections, report);

  for (const collection of check.order) {
    const { name } = collection;
    const total = directory?.fileOf(name)?.rows;
    let rows = 0;
    for await (const batch of rowsOf(dataset, name, report)) {
      check.add(name, batch);
      rows += batch.documents.length;
      onProgress?.({ collection: name, rows, total });
      if (check.faults.total === 0) onRows?.(collection, batch.documents as readonly Document[], batch.lines);
      await pause?.();
    }
    check.complete(name);
  }
  return check.finish();
};

async function* rowsOf(dataset: Dataset, collection: string, report: (fault: DataError) => void): AsyncGenerator<Rows> {
  if (dataset instanceof DirectoryDataset) {
    yield* dataset.rows(collection, report);
    return;
  }
  let firstRow = 1;
  for await (const documents of dataset.read(collection)) {
    yield { firstRow, documents };
    firstRow += documents.length;
  }
}

/** Reports declared collections that the manifest lacks, with the undeclared one that looks like a misspelling. */
const checkNames = (
  { manifest }: DirectoryDataset,
  collections: ReadonlyMap<string, Collection>,
  report: (fault: DataError) => void,
): void => {
  const present = Object.keys(manifest.collections);
  const strangers = present.filter((name) => !collections.has(name));
  for (const name of collections.keys()) {
    if (present.includes(name)) continue;
    const guess = nearest(name, strangers);
    const rule = `is missing${guess ? `; there is "${guess}"` : ': add it, with an empty file if it has no rows'}`;
    report({ file: MANIFEST_FILE, row: null, field: `collections.${name}`, rule });
  }
};

export class DatasetCheck {
  /** Collections in the order to read them: so that keys are known before they are referred to, where possible. */
  readonly order: readonly Collection[];
  readonly faults: ErrorList;
  readonly #targets: ReadonlyMap<string, Target>;
  readonly #checks: ReadonlyMap<string, RowCheck>;

  /**
   * @param manifest of the dataset
   * @param maxErrors how many faults to keep; all are counted
   * @param fileOf the name that faults call a collection by
   */
  constructor(
    collections: ReadonlyMap<string, Collection>,
    manifest: Pick<Manifest, 'created'>,
    maxErrors = 100,
    fileOf: (collection: string) => string = (name) => name,
  ) {
    this.faults = new ErrorList(maxErrors);
    this.order = referencedFirst(collections);
    const targets = targetsOf(collections);
    const check = (collection: Collection) =>
      rowCheck(collection, manifest, fileOf(collection.name), targets, (fault) => this.report(fault));
    this.#targets = targets;
    this.#checks = new Map(this.order.map((collection) => [collection.name, check(collection)]));
  }

  report(fault: DataError): void {
    this.faults.add(fault);
  }

  /** Checks the next rows of a declared collection. Undefined rows are faults that their reader has reported. */
  add(collection: string, { firstRow, documents }: Rows): void {
    const check = this.#checks.get(collection) as RowCheck;
    for (let i = 0; i < documents.length; i++) {
      const document = documents[i];
      if (document) check.add(document, firstRow + i);
    }
  }

  /** To be called after the last row of a collection. */
  complete(collection: string): void {
    const target = this.#targets.get(collection);
    if (target) target.complete = true;
  }

  /** To be called after the last collection. */
  finish(): ErrorList {
    for (const check of this.#checks.values()) check.finish();
    return this.faults;
  }
}

const targetsOf = (collections: ReadonlyMap<string, Collection>): ReadonlyMap<string, Target> =>
  new Map(
    [...collections.values()]
      .flatMap(({ references = [] }) => references)
      // An undeclared collection has no documents.
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
