import { setMaxListeners } from 'node:events';
import type { Collection } from '../contracts/dataset.js';
import type { QueryOf, SnapshotReader } from '../contracts/plugin.js';
import type { Group, JsonRows, Query, Scalar, Snapshot, TotalsQuery } from '../contracts/storage.js';
import { ApiError, readTimeout, StorageError } from '../errors.js';
import type { Pauses } from '../util/event-loop.js';
import { checkKey, checkQuery, invalid } from './check-query.js';
import { scalarColumns } from './conditions.js';
import { collectRows, lazyRow, lazyRows } from './lazy-rows.js';

interface Reads {
  readonly snapshot: Snapshot;
  readonly collections: ReadonlyMap<string, Collection>;
  signal: AbortSignal | undefined;
  pauses: Pauses | undefined;
  readonly limit?: TimeLimit;
}

interface TimeLimit {
  readonly ms: number;
  signal: AbortSignal;
  startedAt: number;
  /** Reads that are waiting for other queries. They pause the timeout. */
  readonly waiting: Set<object>;
}

export interface CheckedReader extends SnapshotReader {
  /**
   * Rejects if a handler does not end within 0.75 seconds after the timeout of its reads. A handler can wait for
   * something other than a read, such as another service, so the timeout of the reads does not always end it.
   */
  bounded<Result>(handling: Promise<Result>, late: (ms: number) => Error): Promise<Result>;
  /** Makes later reads stop when the signal is aborted, instead of after the timeout. */
  readUntil(signal: AbortSignal, pauses: Pauses): void;
}

const declared = ({ collections }: Reads, { name }: { readonly name: string }): Collection => {
  const collection = collections.get(name);
  if (!collection) throw new StorageError('unknown_collection', `No plugin declares the collection "${name}".`);
  return collection;
};

const assertWanted = ({ signal }: Reads, { name }: Collection): void => {
  if (signal?.aborted) throw new StorageError('aborted', `The read of "${name}" was aborted.`);
};

const named = (error: unknown, { signal }: Reads, { name }: Collection): StorageError => {
  if (error instanceof StorageError) return error;
  return signal?.aborted
    ? new StorageError('aborted', `The read of "${name}" was aborted.`, { cause: error })
    : new StorageError('unavailable', `The adapter could not read "${name}".`, { cause: error });
};

const get = async <T extends object>(reads: Reads, target: Collection<T>, key: readonly Scalar[]) => {
  const collection = declared(reads, target);
  checkKey(collection, key);
  assertWanted(reads, collection);
  const { snapshot, signal } = reads;
  try {
    if (!snapshot.getJson) return (await snapshot.get(collection.name, key, signal)) as T | undefined;
    const json = await snapshot.getJson(collection.name, key, signal);
    return json === undefined ? undefined : (lazyRow(json) as T);
  } catch (error) {
    throw named(error, reads, collection);
  }
};

async function* asLazyRows(batches: AsyncIterable<JsonRows>) {
  for await (const rows of batches) yield lazyRows(rows);
}

/**
 * All readers share this generator function. If each reader created its own, V8 would have to recompile the callers.
 */
async function* stream<T extends object>(reads: Reads, target: Collection<T>, query: QueryOf<T> = {}) {
  const collection = declared(reads, target);
  const checked = checkQuery(collection, query as Partial<Query>);
  if (checked.words && !searchesFor(reads, collection))
    throw invalid(collection, 'the store cannot search for "words"');
  assertWanted(reads, collection);
  const { snapshot, signal } = reads;
  try {
    const batches = snapshot.findJson
      ? asLazyRows(snapshot.findJson(collection.name, checked, signal))
      : snapshot.find(collection.name, checked, signal);
    for await (const batch of batches) {
      yield batch as readonly T[];
      await reads.pauses?.pause();
    }
  } catch (error) {
    throw named(error, reads, collection);
  }
}

const tooSlow = (sentence: string, reason: string, cause: unknown): ApiError =>
  new ApiError(readTimeout, sentence, { cause: new StorageError('unavailable', reason, { cause }) });

/**
 * Applies the timeout to a read. After the read has waited for other queries, the timeout starts again.
 * @throws ApiError `readTimeout` if the read exceeds the timeout
 */
const withWaits = async <Result>(
  reads: Reads,
  read: (signal: AbortSignal | undefined, onWait?: () => () => void) => Promise<Result>,
): Promise<Result> => {
  const { limit } = reads;
  if (!limit || reads.signal !== limit.signal) return read(reads.signal);
  const controller = new AbortController();
  const abort = () => controller.abort();
  limit.signal.addEventListener('abort', abort, { once: true });
  const onWait = () => {
    limit.signal.removeEventListener('abort', abort);
    limit.waiting.add(controller);
    return () => {
      limit.waiting.delete(controller);
      limit.signal = timeoutAfter(limit.ms);
      limit.startedAt = performance.now();
      limit.signal.addEventListener('abort', abort, { once: true });
      reads.signal = limit.signal;
    };
  };
  try {
    return await read(controller.signal, onWait);
  } catch (error) {
    if (!controller.signal.aborted) throw error;
    const sentence = `The totals take longer than ${limit.ms / 1000} seconds. Use filters to narrow the query.`;
    throw tooSlow(sentence, `The totals did not complete within ${limit.ms} ms.`, error);
  } finally {
    limit.waiting.delete(controller);
    limit.signal.removeEventListener('abort', abort);
  }
};

/** With the default `http.answerMs`, a 503 is sent before a proxy with a timeout of five seconds gives up. */
const LAST_STEPS_MS = 750;

const bounded = <Result>({ limit }: Reads, handling: Promise<Result>, late: (ms: number) => Error): Promise<Result> => {
  if (!limit) return handling;
  const mostMs = limit.ms + LAST_STEPS_MS;
  return new Promise((resolve, reject) => {
    let timer: NodeJS.Timeout | undefined;
    const check = () => {
      const leftMs = limit.waiting.size > 0 ? limit.ms : limit.startedAt + mostMs - performance.now();
      if (leftMs > 0) timer = setTimeout(check, Math.ceil(leftMs)).unref();
      else reject(late(mostMs));
    };
    check();
    handling.then(resolve, reject).finally(() => clearTimeout(timer));
  });
};

/** The adapter contract limits groups to this number of fields. */
const MOST_GROUPED = 2;

const totals = async <T extends object>(
  reads: Reads,
  target: Collection<T>,
  query: TotalsQuery,
): Promise<readonly Group[] | undefined> => {
  const collection = declared(reads, target);
  const { snapshot } = reads;
  const columns = scalarColumns(collection);
  if (query.by.length > MOST_GROUPED)
    throw invalid(collection, `totals can be grouped by ${MOST_GROUPED} fields at most`);
  const fields = [...query.by, ...query.where.map(({ field }) => field), ...(query.of === undefined ? [] : [query.of])];
  for (const field of fields)
    if (!Object.hasOwn(columns, field)) throw invalid(collection, `totals cannot use the field "${field}"`);
  assertWanted(reads, collection);
  if (query.words && !searchesFor(reads, collection)) return undefined;
  try {
    return await withWaits(reads, async (signal, onWait) => snapshot.totals?.(collection.name, query, signal, onWait));
  } catch (error) {
    throw error instanceof ApiError ? error : named(error, reads, collection);
  }
};

const searchesFor = ({ snapshot }: Reads, { search }: Collection): boolean =>
  search !== undefined && (snapshot.searches ?? false);

/**
 * Returns a reader whose methods reject only with a `StorageError`: `invalid_query` if the query uses anything that the
 * collection does not declare, and `unavailable` for unexpected errors of the adapter.
 */
export const checkedSnapshot = (
  snapshot: Snapshot,
  collections: ReadonlyMap<string, Collection>,
  signal?: AbortSignal,
  pauses?: Pauses,
): CheckedReader => readerOf({ snapshot, collections, signal, pauses });

const readerOf = (reads: Reads): CheckedReader => {
  const { snapshot } = reads;
  return {
    version: snapshot.version,
    publishedAt: snapshot.publishedAt,
    manifest: snapshot.manifest,
    get: (target, key) => get(reads, target, key),
    find: (target, query) => collectRows(stream(reads, target, query)),
    stream: (target, query) => stream(reads, target, query),
    totals: (target, query) => totals(reads, target, query),
    searches: (target) => searchesFor(reads, declared(reads, target)),
    bounded: (handling, late) => bounded(reads, handling, late),
    readUntil(signal, pauses) {
      reads.signal = signal;
      reads.pauses = pauses;
    },
  };
};

export type TimedRead = <Result>(work: (reader: CheckedReader) => Promise<Result>) => Promise<Result>;

/**
 * All reads together must complete within `ms` milliseconds. The timeout of an adapter applies only to a single
 * operation. After the timeout, the read rejects with an `ApiError` of the kind `readTimeout`.
 */
export const timedReader = (
  snapshot: Snapshot,
  collections: ReadonlyMap<string, Collection>,
  ms: number,
  pauses?: Pauses,
): TimedRead => readUntil(timeoutAfter(ms), { snapshot, collections, ms, pauses });

const timeoutAfter = (ms: number): AbortSignal => {
  const signal = AbortSignal.timeout(ms);
  // Each read adds a listener to the signal. 0 disables Node's warning about too many listeners.
  setMaxListeners(0, signal);
  return signal;
};

interface TimedReads {
  readonly snapshot: Snapshot;
  readonly collections: ReadonlyMap<string, Collection>;
  readonly ms: number;
  readonly pauses: Pauses | undefined;
}

const readUntil = (signal: AbortSignal, { snapshot, collections, ms, pauses }: TimedReads): TimedRead => {
  const limit = { ms, signal, startedAt: performance.now(), waiting: new Set<object>() };
  const reader = readerOf({ snapshot, collections, signal, pauses, limit });
  return async <Result>(work: (reader: CheckedReader) => Promise<Result>): Promise<Result> => {
    try {
      return await work(reader);
    } catch (cause) {
      if (!(limit.signal.aborted && cause instanceof StorageError && cause.code === 'aborted')) throw cause;
      const sentence =
        `Reading the data takes longer than ${ms / 1000} seconds. ` +
        'If the query reads many rows, narrow it, for example with filters. Otherwise, try again later.';
      throw tooSlow(sentence, `The reads for one response did not complete within ${ms} ms.`, cause);
    }
  };
};

const SHARED = 1 / 8;

/**
 * Returns a function that creates readers of a snapshot. A timer costs as much as a read, so readers that are created
 * within 1/8 of the timeout share a timer. Each reader still has at least 7/8 of the timeout.
 */
export const sharedReader = (
  snapshot: Snapshot,
  collections: ReadonlyMap<string, Collection>,
  ms: number,
): ((pauses?: Pauses) => TimedRead) => {
  let signal: AbortSignal | undefined;
  let since = 0;
  return (pauses) => {
    const now = performance.now();
    if (!signal || now - since > SHARED * ms) {
      signal = timeoutAfter(ms);
      since = now;
    }
    return readUntil(signal, { snapshot, collections, ms, pauses });
  };
};
