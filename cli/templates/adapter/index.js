/**
 * The {{name}} storage adapter loads a dataset from a JSON file into memory. Each publication replaces the file. To use
 * a different store, replace `load`, `save` and `rowsOf`, and run the conformance suite.
 */
/**
 * @import { AdapterModule, Collection, Dataset, Document, Manifest, Query, Snapshot } from 'metro-forecast-api/adapter'
 */
import { randomUUID } from 'node:crypto';
import { readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { compareBy, compareScalars, publishing, StorageError } from 'metro-forecast-api/adapter';

/** @typedef {{ manifest: Manifest, publishedAt: string, collections: Record<string, Document[]> }} Stored */

/** How often the adapter checks whether another process has published. */
const POLL_MS = 500;

/**
 * Returns text that identifies the current file, or undefined if there is none.
 * @type {(file: string) => Promise<string | undefined>}
 */
const stampOf = async (file) => {
  const found = await stat(file).catch(() => undefined);
  return found && `${found.ino} ${found.mtimeMs}`;
};

/**
 * Loads the file. All documents are frozen, because callers share them.
 * @type {(file: string) => Promise<Stored>}
 */
const load = async (file) => JSON.parse(await readFile(file, 'utf8'), (_name, value) => Object.freeze(value));

/**
 * Replaces the file. Readers see either the old file or the new one, never an incomplete one.
 * @type {(file: string, stored: Stored) => Promise<void>}
 */
const save = async (file, stored) => {
  const draft = `${file}.${randomUUID()}`;
  try {
    await writeFile(draft, JSON.stringify(stored));
    await rename(draft, file);
  } finally {
    await rm(draft, { force: true });
  }
};

/**
 * Returns the documents that match a query. The framework has already validated the query.
 * @type {(documents: readonly Document[], query: Query) => readonly Document[]}
 */
const rowsOf = (documents, { order, equal = {}, range, descending, after, limit }) => {
  const inRange = (/** @type {any} */ value) =>
    (range?.from === undefined || compareScalars(value, range.from) >= 0) &&
    (range?.to === undefined || compareScalars(value, range.to) <= 0);
  const free = order.slice(Object.keys(equal).length);
  const place = Object.fromEntries(free.map((field, i) => [field, after?.[i]]));
  const isBehind = (/** @type {Document} */ row) => (descending ? -1 : 1) * compareBy(free)(row, place) > 0;
  const found = documents
    .filter((row) => Object.entries(equal).every(([field, value]) => row[field] === value))
    .filter((row) => !range || inRange(row[range.field]))
    .filter((row) => !after || isBehind(row))
    .sort(compareBy(order));
  if (descending) found.reverse();
  return found.slice(0, limit);
};

/**
 * Reads the documents of all collections, and calls `onBatch` with the number of documents after each batch.
 * @type {(
 *   dataset: Dataset,
 *   names: readonly string[],
 *   onBatch: (name: string, written: number) => void,
 * ) => Promise<Record<string, Document[]>>}
 */
const readAll = async (dataset, names, onBatch) => {
  const collections = /** @type {Record<string, Document[]>} */ ({});
  for (const name of names) {
    const documents = /** @type {Document[]} */ ([]);
    for await (const batch of dataset.read(name)) {
      for (const document of batch) documents.push(document);
      onBatch(name, documents.length);
    }
    collections[name] = documents;
  }
  return collections;
};

/**
 * Rejects an existing version. Called before and after reading the dataset, because another process may publish in the
 * meantime.
 * @type {(current: Stored | undefined, manifest: Manifest) => void}
 */
const assertOther = (current, { version }) => {
  if (current?.manifest.version === version) {
    throw new StorageError('conflict', `The version "${version}" already exists.`);
  }
};

/**
 * @type {(
 *   held: Stored,
 *   collections: ReadonlyMap<string, Collection>,
 *   assertUsable: (signal?: AbortSignal) => void,
 * ) => Snapshot}
 */
const snapshotOf = (held, collections, assertUsable) => {
  const documentsOf = (/** @type {string} */ name) => {
    if (!collections.has(name)) throw new StorageError('unknown_collection', `There is no "${name}".`);
    return held.collections[name] ?? [];
  };
  return {
    version: held.manifest.version,
    publishedAt: new Date(held.publishedAt),
    manifest: held.manifest,
    async get(name, key, signal) {
      assertUsable(signal);
      const fields = collections.get(name)?.key ?? [];
      return documentsOf(name).find((row) => fields.every((field, i) => row[field] === key[i]));
    },
    async *find(name, query, signal) {
      assertUsable(signal);
      yield rowsOf(documentsOf(name), query);
    },
    // Rows stay in memory as long as a snapshot refers to them.
    release() {},
  };
};

/** @type {AdapterModule<{ path: string }>} */
export default {
  kind: 'adapter',
  name: '{{name}}',
  version: '0.1.0',
  capabilities: { publish: true, versions: false, durable: true, follows: true },
  options: {
    type: 'object',
    required: ['path'],
    additionalProperties: false,
    properties: { path: { type: 'string', minLength: 1, description: 'The dataset file.' } },
  },
  create({ path }, context) {
    const file = context.resolvePath(path);
    let current = /** @type {Stored | undefined} */ (undefined);
    let stamp = /** @type {string | undefined} */ (undefined);
    let timer = /** @type {NodeJS.Timeout | undefined} */ (undefined);
    let [polling, closed, isPublishing] = [Promise.resolve(), false, false];
    const assertUsable = (/** @type {AbortSignal | undefined} */ signal = undefined) => {
      if (closed) throw new StorageError('closed', 'The adapter has been closed.');
      if (signal?.aborted) throw new StorageError('aborted', 'The caller has aborted the read.');
    };
    const reloadIfChanged = async () => {
      const found = await stampOf(file);
      if (closed || found === undefined || found === stamp) return;
      const loaded = await load(file).catch((cause) => {
        throw new StorageError('invalid_dataset', `${file} cannot be read: ${cause.message}`, { cause });
      });
      stamp = found;
      context.problem();
      // Every publication has a later time than the previous one. Its version can have the name of a replaced version.
      if (closed || loaded.publishedAt === current?.publishedAt) return;
      current = loaded;
      context.changed();
    };
    /** Reloads run one after another, so that the newest file is loaded last. */
    const poll = () => {
      const loading = polling.then(reloadIfChanged);
      polling = loading.catch(() => context.problem('The dataset file cannot be read.'));
      return loading;
    };
    return {
      async open() {
        assertUsable();
        // Polling continues if the file is invalid, because another process may replace it.
        timer ??= setInterval(() => poll().catch(() => {}), POLL_MS).unref();
        await poll();
        assertUsable();
      },
      async close() {
        closed = true;
        clearInterval(timer);
        await polling;
      },
      ping: async (signal) => assertUsable(signal),
      snapshot() {
        assertUsable();
        if (!current) throw new StorageError('unavailable', 'Nothing has been published yet.');
        return snapshotOf(current, context.collections, assertUsable);
      },
      async publish(dataset, { onProgress, onRepair, signal } = {}) {
        const { manifest } = dataset;
        assertUsable(signal);
        if (isPublishing) throw new StorageError('conflict', 'Another publication is in progress.');
        isPublishing = true;
        try {
          await poll().catch(() => {});
          assertOther(current, manifest);
          const collections = await readAll(dataset, [...context.collections.keys()], (collection, written) => {
            assertUsable(signal);
            onProgress?.({ collection, written, total: undefined });
          });
          assertUsable(signal);
          const invalid = await poll().catch((error) => error);
          assertOther(current, manifest);
          const time = publishing.publicationTime(manifest, current && new Date(current.publishedAt), context.clock);
          await save(file, { manifest, publishedAt: time.toISOString(), collections });
          await poll();
          if (invalid) onRepair?.(invalid.message);
        } catch (cause) {
          throw cause instanceof StorageError ? cause : new StorageError('invalid_dataset', `${cause}`, { cause });
        } finally {
          isPublishing = false;
        }
      },
    };
  },
};
