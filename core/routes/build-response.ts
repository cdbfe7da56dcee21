/** Builds the response from the result of a handler, or starts to read the rows of a large list. */
import { createHash, hash } from 'node:crypto';
import { setMaxListeners } from 'node:events';
import type { CheckedReader } from '../data/checked-snapshot.js';
import { StorageError } from '../errors.js';
import { Representation } from '../response/representation.js';
import type { Pauses } from '../util/event-loop.js';
import { packageVersion } from '../util/package.js';
import { callHandler, type HandlerResult, ofRoute } from './call-handler.js';
import type { DataRequest } from './response-cache.js';

/**
 * A list with more than 1 MiB of stored text is sent while it is being read. A list with computed rows is built
 * completely and shared by all requests, unless it is too large for the cache.
 */
export const LARGE_LIST_BYTES = 1024 * 1024;

/**
 * The version of the snapshot and the cache key identify the rows, so the ETag of a large list need not be computed
 * from its body.
 */
export const largeListDigest = (cacheKey: string, version: string): string =>
  hash('sha256', `${packageVersion} ${version} ${cacheKey}`, 'base64url');

export interface StartedList {
  readonly head: string;
  readonly first: readonly Buffer[];
  readonly reading: ListReading;
}

interface ListLimits {
  /** Maximum size of a list in bytes. A larger list is not built completely. */
  readonly mostBytes: number;
  /** Maximum size of the stored text of the rows, in bytes. A list with more text is not built completely. */
  readonly mostStoredBytes: number;
  /** How many bytes of rows to read before the first chunk is written. Default: 0. */
  readonly aheadBytes?: number;
  /** Reading fails with `unavailable` if there is no new chunk within this many milliseconds. */
  readonly stallMs: number;
}

type Published = Pick<CheckedReader, 'version' | 'publishedAt'>;

/** Calls the handler, and builds its response. Resolves with a streamed list before any of its rows are read. */
export const buildUnlessStreamed = async (
  request: DataRequest,
  reader: CheckedReader,
  pauses: Pauses,
): Promise<Representation | HandlerResult> => {
  const result = await callHandler(request, reader);
  return result.isStreamed ? result : ofRoute(request.route, () => build(request, reader, result, pauses));
};

/** Builds the response. If a streamed list exceeds the limits, only its first chunks are read. */
export const buildOrStart = (
  request: DataRequest,
  snapshot: Published,
  result: HandlerResult,
  pauses: Pauses,
  limits: ListLimits,
): Promise<Representation | StartedList> =>
  ofRoute(request.route, async () =>
    result.isStreamed ? readList(request, snapshot, result, pauses, limits) : build(request, snapshot, result, pauses),
  );

export const representationOf = (
  { format }: DataRequest,
  { publishedAt }: Pick<Published, 'publishedAt'>,
  body: Buffer,
  { head, sha256 }: { readonly head: string; readonly sha256?: string },
): Representation =>
  new Representation(body, format.mediaTypes[0]!, {
    head,
    sha256,
    lastModified: publishedAt,
    isCompressed: format.isCompressed ?? false,
  });

const build = async (
  request: DataRequest,
  snapshot: Published,
  { head, pieces, whole }: HandlerResult,
  pauses: Pauses,
): Promise<Representation> =>
  representationOf(request, snapshot, pieces ? await joined(pieces(pauses), pauses) : whole(), { head });

const joined = async (pieces: AsyncIterable<Buffer>, pauses: Pauses): Promise<Buffer> => {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const piece of pieces) {
    chunks.push(piece);
    size += piece.length;
  }
  return together(chunks, size, pauses);
};

const CONCATENATED_BYTES = 64 * 1024;

/** Concatenates chunks, with pauses. `Buffer.concat` would block the event loop for several milliseconds per 10 MB. */
const together = async (chunks: readonly Buffer[], size: number, pauses: Pauses): Promise<Buffer> => {
  if (size <= CONCATENATED_BYTES) return Buffer.concat(chunks, size);
  const body = Buffer.allocUnsafeSlow(size);
  let at = 0;
  for (const chunk of chunks) {
    at += chunk.copy(body, at);
    await pauses.pause();
  }
  return body;
};

const readList = async (
  request: DataRequest,
  snapshot: Published,
  result: HandlerResult,
  pauses: Pauses,
  limits: ListLimits,
): Promise<Representation | StartedList> => {
  const { head, hasRead, storedBytes } = result;
  const reading = new ListReading(result, pauses, limits);
  const chunks: Buffer[] = [];
  let size = 0;
  const sum = createHash('sha256');
  for (let next = await reading.next(); !next.done; next = await reading.next()) {
    chunks.push(next.value);
    size += next.value.length;
    const isTooLarge = size > limits.mostBytes || storedBytes() > limits.mostStoredBytes;
    if (hasRead() && isTooLarge) return { head, first: chunks, reading };
    sum.update(next.value);
  }
  const isLarge = storedBytes() > LARGE_LIST_BYTES;
  const sha256 = isLarge ? largeListDigest(request.cacheKey, snapshot.version) : sum.digest('base64url');
  return representationOf(request, snapshot, await together(chunks, size, pauses), { head, sha256 });
};

/** Minimum size of all chunks except the first. Many small writes would cost more than building the list. */
const CHUNK_BYTES = 64 * 1024;

async function* inChunks(pieces: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let chunk: Buffer[] = [];
  let size = 0;
  let least = 0;
  for await (const piece of pieces) {
    chunk.push(piece);
    size += piece.length;
    if (size < least) continue;
    yield Buffer.concat(chunk, size);
    least = CHUNK_BYTES;
    chunk = [];
    size = 0;
  }
  if (size > 0) yield Buffer.concat(chunk, size);
}

class ListReading {
  readonly #chunks: AsyncGenerator<Buffer>;
  readonly #controller = new AbortController();
  readonly #stallMs: number;

  constructor({ pieces }: HandlerResult, pauses: Pauses, { aheadBytes, stallMs }: ListLimits) {
    const { signal } = this.#controller;
    // Each read adds a listener to the signal. 0 disables Node's warning about too many listeners.
    setMaxListeners(0, signal);
    this.#chunks = inChunks(pieces!(pauses, { aheadBytes, until: signal }));
    this.#stallMs = stallMs;
  }

  next(): Promise<IteratorResult<Buffer>> {
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        reject(new StorageError('unavailable', `The store has returned no rows of a list for ${this.#stallMs} ms.`));
        this.close();
      }, this.#stallMs);
      this.#chunks
        .next()
        .then(resolve, reject)
        .finally(() => clearTimeout(timer));
    });
  }

  close(): void {
    this.#controller.abort();
    this.#chunks.return(undefined).catch(() => undefined);
  }
}
