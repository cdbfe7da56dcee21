/** Helpers for adapters that publish and store versions. `./adapter` exports this module as a namespace. */
import { isDeepStrictEqual } from 'node:util';
import type { Collection, Document, Manifest } from '../contracts/dataset.js';
import type { Clock } from '../contracts/runtime.js';
import type { Capabilities } from '../contracts/storage.js';
import { StorageError } from '../errors.js';
import { nonFinitePath } from '../validation/json.js';
import { compareBy } from './scalars.js';
import { wordsOf } from './words.js';

export { writePublicationTime } from './write-directory.js';

type Batches = AsyncIterable<readonly Document[]>;

/**
 * Turns errors from reading documents into `invalid_dataset`. The original error becomes the cause.
 * @param batches the documents, or a function that returns them, so that its errors are converted too
 */
export async function* readable(batches: Batches | (() => Batches)): AsyncGenerator<readonly Document[]> {
  try {
    yield* typeof batches === 'function' ? batches() : batches;
  } catch (cause) {
    if (cause instanceof StorageError) throw cause;
    const reason = cause instanceof Error ? cause.message : String(cause);
    const message = `The dataset could not be read in full: ${reason}`;
    throw new StorageError('invalid_dataset', message, { cause });
  }
}

export const invalidCollection = ({ name }: Collection, error: string, cause?: unknown): StorageError =>
  new StorageError('invalid_dataset', `Collection "${name}": ${error}.`, { cause });

export const keyText = ({ key }: Collection, row: Document): string => JSON.stringify(key.map((field) => row[field]));

const stringify = (collection: Collection, row: Document): string => {
  try {
    return JSON.stringify(row);
  } catch (cause) {
    throw invalidCollection(collection, `a row cannot be converted to JSON: ${(cause as Error).message}`, cause);
  }
};

/** @throws StorageError `invalid_dataset` for a value that JSON cannot represent, such as NaN or a BigInt */
export const rowJson = (collection: Collection, row: Document): string => {
  const json = stringify(collection, row);
  // `JSON.stringify` converts Infinity and NaN to null, so the slower check is needed only if the JSON contains null.
  const path = json.includes('null') ? nonFinitePath(row) : undefined;
  if (!path) return json;
  const field = path.join('.');
  throw invalidCollection(
    collection,
    `the row with the key ${keyText(collection, row)} has no finite number in "${field}"`,
  );
};

/** @throws StorageError with the code `invalid_dataset` if the rows are not in key order */
export async function* inKeyOrder(
  collection: Collection,
  batches: Batches | (() => Batches),
): AsyncGenerator<readonly Document[]> {
  const compare = compareBy(collection.key);
  let last: Document | undefined;
  for await (const batch of readable(batches)) {
    for (const row of batch) {
      const order = last ? compare(last, row) : -1;
      if (order === 0) throw invalidCollection(collection, `two rows have the key ${keyText(collection, row)}`);
      if (order > 0) {
        throw invalidCollection(collection, `the row with the key ${keyText(collection, row)} is not in key order`);
      }
      last = row;
    }
    yield batch;
  }
}

export const assertNotAborted = (signal: AbortSignal | undefined): void => {
  if (signal?.aborted) throw new StorageError('aborted', 'The publication was aborted.', { cause: signal.reason });
};

export const momentAfter = (previous: Date, clock: Clock): Date =>
  new Date(Math.max(clock.now(), previous.getTime() + 1));

export const publicationTime = (
  manifest: Pick<Manifest, 'created'>,
  previous: Date | undefined,
  clock: Clock,
): Date => {
  const created = Date.parse(manifest.created);
  if (previous === undefined || created > previous.getTime()) return new Date(created);
  return momentAfter(previous, clock);
};

/** Returns the sort orders that need an index. The first is the key, whose index is unique. */
export const ordersOf = ({ key, orders = [] }: Collection): readonly (readonly string[])[] => [key, ...orders];

/**
 * Returns the words of a row for a search index, including duplicates.
 * @param search the fields to index
 */
export const wordsToIndex = (row: Document, search: readonly string[]): readonly string[] =>
  wordsOf(search.map((field) => row[field] ?? '').join('\n'));

/** For each collection in a stored version: the indexed orders and search fields. */
type Indexed = Readonly<
  Record<string, { readonly orders: readonly (readonly string[])[]; readonly search?: readonly string[] }>
>;

/** An adapter without the capability `search` needs no search indexes. */
type Searching = Pick<Capabilities, 'search'>;

/**
 * Returns the declared collections and indexes that a version lacks. The version can be served only if the list is
 * empty.
 * @param capabilities the capabilities of the adapter
 */
export const missingIn = (
  stored: Indexed,
  declared: ReadonlyMap<string, Collection>,
  capabilities: Searching = {},
): readonly string[] =>
  [...declared.values()].flatMap((collection) => {
    const found = stored[collection.name];
    if (!found) return [`the collection "${collection.name}"`];
    const missing = ordersOf(collection).filter(
      (order) => !found.orders.some((each) => isDeepStrictEqual(each, order)),
    );
    const { search } = collection;
    const isSearched = !capabilities.search || search === undefined || isDeepStrictEqual(search, found.search);
    return [
      ...missing.map((order) => `the order [${order.join(', ')}] of "${collection.name}"`),
      ...(isSearched ? [] : [`the search index [${search.join(', ')}] of "${collection.name}"`]),
    ];
  });

/**
 * @param capabilities the capabilities of the adapter
 * @throws StorageError `invalid_dataset` if a stored version lacks a declared collection or index
 */
export const assertComplete = (
  version: string,
  stored: Indexed,
  declared: ReadonlyMap<string, Collection>,
  capabilities: Searching = {},
): void => {
  const missing = missingIn(stored, declared, capabilities);
  if (missing.length === 0) return;
  throw new StorageError(
    'invalid_dataset',
    `The version ${version} was published without ${missing.join(', ')}: publish the dataset again with this configuration.`,
  );
};

/** @param problem the reason why nothing can be read, if there is a more specific one */
export const nothingPublished = (problem = 'Nothing has been published yet: publish a dataset.'): StorageError =>
  new StorageError('unavailable', problem);

export const versionTaken = (version: string, publishedAt: Date): StorageError =>
  new StorageError(
    'conflict',
    `Version ${version} was already published on ${publishedAt.toISOString()}: different content needs a new version.`,
  );

export const unknownVersion = (version: string, stored: readonly string[]): StorageError =>
  new StorageError(
    'unknown_version',
    `There is no version ${version}. Versions in the store: ${stored.join(', ') || 'none'}.`,
  );
