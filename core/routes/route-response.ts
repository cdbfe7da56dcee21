/** Calls the handler of a data route, and builds the response. */
import { createHash, hash } from 'node:crypto';
import type { Column, DataContext, Format, Route, Row, SnapshotReader, StreamedList } from '../contracts/plugin.js';
import type { CheckedReader, TimedRead } from '../data/checked-snapshot.js';
import { inBatches, rowText, textOf } from '../data/lazy-rows.js';
import { AS_OF, declaredHeaders, FORMAT, listColumns, typedColumns } from '../registry/route-defaults.js';
import { jsonOf, ResponseError } from '../response/formats.js';
import { linesOf } from '../response/headers.js';
import { Representation } from '../response/representation.js';
import type { Pauses } from '../util/event-loop.js';
import { memoize } from '../util/lru-map.js';
import { packageVersion } from '../util/package.js';
import type { Input } from './input.js';
import { ListReading } from './list-reading.js';
import { valueText } from './parameter-values.js';
import { type DataRequest, dataRequest } from './response-cache.js';

export const normalizedIn = (request: DataRequest, read: TimedRead): DataRequest | Promise<DataRequest> => {
  const { route, input, format } = request;
  if (!route.normalizeIn) return request;
  return read(async (snapshot) => ({
    ...request,
    ...dataRequest(route, await route.normalizeIn!(input as never, snapshot), format),
  }));
};

const headOf = memoize((version) => linesOf({ 'Cache-Control': 'private, no-cache', 'Snapshot-Version': version }));

/** Links always include the format, because the client might have chosen the format with `Accept`. */
const referenceOf = ({ route, input, format, asOf }: DataRequest, changes: Input): string => {
  const inPath = Object.keys(route.parameters?.path ?? {});
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(input)) if (!inPath.includes(name)) query.set(name, valueText(value));
  if (listColumns(route)) query.set(FORMAT, format.name);
  if (asOf !== undefined) query.set(AS_OF, asOf);
  for (const [name, value] of Object.entries(changes)) query.set(name, valueText(value));
  return `?${query}`;
};

const contextOf = (request: DataRequest, snapshot: SnapshotReader, headers: Record<string, string>): DataContext => ({
  snapshot,
  reference: (changes) => referenceOf(request, changes),
  setHeader(name, value) {
    const { route } = request;
    if (!Object.hasOwn(declaredHeaders(route), name)) {
      throw new Error(`The route ${route.path} sets the header "${name}", which its response does not declare.`);
    }
    headers[name] = value;
  },
});

interface Response {
  /** Header lines that are sent with every encoding and with a 304. */
  readonly head: string;
  /**
   * Yields the body in pieces, which are generated only when they are read. Undefined if the response is not a list.
   * @param aheadBytes bytes of stored text to read before the first piece is written
   */
  readonly pieces: ((pauses: Pauses, aheadBytes?: number) => AsyncGenerator<Buffer>) | undefined;
  /** True if rows are read from the store while the list is being written. */
  readonly isStreamed: boolean;
  readonly hasRead: () => boolean;
  /** The size of the rows that are still stored as text. Rows that the handler has parsed or created do not count. */
  readonly storedBytes: () => number;
  readonly whole: () => Buffer;
}

const selected = (route: Route, names: readonly string[] | undefined) => {
  const all = typedColumns(route);
  if (!names) return { columns: all, of: (rows: readonly Row[]) => rows };
  const byName = new Map(all.map((column) => [column.name, column]));
  return {
    columns: names.flatMap((name) => byName.get(name) ?? []),
    of: (rows: readonly Row[]) =>
      rows.map((row) =>
        Object.fromEntries(names.filter((name) => Object.hasOwn(row, name)).map((name) => [name, row[name]])),
      ),
  };
};

export const callHandler = async (request: DataRequest, snapshot: SnapshotReader): Promise<Response> => {
  const { route, input, format } = request;
  const headers: Record<string, string> = {};
  const response = await route.handler(input as never, contextOf(request, snapshot, headers));
  const selection = selected(route, route.columns?.(input as never));
  const batches = isStreamed(response) ? response.data : batchesOf(response);
  let hasRead = false;
  let storedBytes = 0;
  async function* noted(lists: NonNullable<typeof batches>) {
    for await (const list of lists) {
      hasRead = true;
      for (const { json } of textOf(list) ?? []) storedBytes += json.length;
      yield selection.of(list as readonly Row[]);
    }
  }
  return {
    head: headOf(snapshot.version) + linesOf(headers),
    pieces:
      batches &&
      ((pauses, aheadBytes = 0) => {
        const ahead = readAhead(noted(batches), () => storedBytes < aheadBytes, pauses);
        return piecesOf(format, ahead, selection.columns, pauses);
      }),
    hasRead: () => hasRead,
    storedBytes: () => storedBytes,
    isStreamed: isStreamed(response),
    whole: () => Buffer.from(jsonOf(response)),
  };
};

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
  /** Number of bytes of rows to read before the first chunk is written. Default: 0. */
  readonly aheadBytes?: number;
  readonly stallMs: number;
}

/**
 * Collects batches while `isAhead` returns true. Then yields the collected batches, and each further batch as it is
 * read.
 */
async function* readAhead<T>(batches: AsyncIterable<T>, isAhead: () => boolean, pauses: Pauses): AsyncGenerator<T> {
  const read: T[] = [];
  for await (const batch of batches) {
    read.push(batch);
    if (isAhead()) await pauses.pause();
    else yield* read.splice(0);
  }
  yield* read;
}

/**
 * Builds the response of a route. Rejects with the handler's error. Resolves with undefined for a streamed list,
 * without reading any rows.
 */
export const buildRepresentation = (
  request: DataRequest,
  reader: CheckedReader,
  pauses: Pauses,
): Promise<Representation | undefined> =>
  ofRoute(request.route, async () => {
    const response = await callHandler(request, reader);
    return response.isStreamed ? undefined : wholeResponse(request, reader, response, pauses);
  });

/** Builds the response of a route. If a streamed list exceeds the limits, only its first chunks are read. */
export const buildOrStart = (
  request: DataRequest,
  reader: CheckedReader,
  pauses: Pauses,
  limits: ListLimits,
): Promise<Representation | StartedList> =>
  ofRoute(request.route, async () => {
    const response = await callHandler(request, reader);
    if (!response.isStreamed) return wholeResponse(request, reader, response, pauses);
    return wholeOrStarted(request, reader, response, { ...limits, pauses });
  });

export const representationOf = (
  { format }: DataRequest,
  { publishedAt }: Pick<CheckedReader, 'publishedAt'>,
  body: Buffer,
  { head, sha256 }: { readonly head: string; readonly sha256?: string },
): Representation =>
  new Representation(body, format.mediaTypes[0]!, {
    head,
    sha256,
    lastModified: publishedAt,
    isCompressed: format.isCompressed ?? false,
  });

const wholeResponse = (
  request: DataRequest,
  reader: CheckedReader,
  { head, pieces, whole }: Response,
  pauses: Pauses,
): Representation | Promise<Representation> => {
  const represent = (body: Buffer) => representationOf(request, reader, body, { head });
  return pieces ? joined(pieces(pauses), pauses).then(represent) : represent(whole());
};

const joined = async (pieces: AsyncIterable<Buffer>, pauses: Pauses): Promise<Buffer> => {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const piece of pieces) {
    chunks.push(piece);
    size += piece.length;
  }
  return together(chunks, size, pauses);
};

const wholeOrStarted = async (
  request: DataRequest,
  reader: CheckedReader,
  { head, pieces, hasRead, storedBytes }: Response,
  { mostBytes, mostStoredBytes, aheadBytes, stallMs, pauses }: ListLimits & { readonly pauses: Pauses },
): Promise<Representation | StartedList> => {
  const reading = new ListReading(pieces!(pauses, aheadBytes), reader, stallMs);
  const chunks: Buffer[] = [];
  let size = 0;
  const sum = createHash('sha256');
  for (let next = await reading.next(); !next.done; next = await reading.next()) {
    chunks.push(next.value);
    size += next.value.length;
    if (hasRead() && (size > mostBytes || storedBytes() > mostStoredBytes)) return { head, first: chunks, reading };
    sum.update(next.value);
  }
  const isLarge = storedBytes() > LARGE_LIST_BYTES;
  const sha256 = isLarge ? largeListDigest(request.cacheKey, reader.version) : sum.digest('base64url');
  return representationOf(request, reader, await together(chunks, size, pauses), { head, sha256 });
};

const bytesOf = ({ name }: Format, written: unknown): Buffer => {
  if (typeof written === 'string') return Buffer.from(written);
  if (!(written instanceof Uint8Array)) {
    throw new ResponseError(`format "${name}" must yield text or bytes, not a value of type ${typeof written}`);
  }
  return Buffer.isBuffer(written) ? written : Buffer.from(written.buffer, written.byteOffset, written.byteLength);
};

/** Number of rows between two pauses. Writing 100 rows takes about 0.1 ms. */
const BATCH = 100;

const batchesOf = (response: unknown): Iterable<readonly object[]> | undefined => {
  const data = dataOf(response);
  const isList = Array.isArray(data) && Object.keys(response as object).length === 1;
  return isList ? inBatches(data, BATCH) : undefined;
};

async function* piecesOf(
  format: Format,
  batches: AsyncIterable<readonly Row[]>,
  columns: readonly Column[],
  pauses: Pauses,
): AsyncGenerator<Buffer> {
  async function* paced() {
    let isFirst = true;
    for await (const batch of batches) {
      if (batch.length === 0) continue;
      if (!isFirst) await pauses.pause();
      isFirst = false;
      yield batch;
    }
  }
  const written: unknown = format.write(paced(), columns);
  if (typeof (written as Partial<AsyncIterable<unknown>> | undefined)?.[Symbol.asyncIterator] !== 'function') {
    throw new ResponseError(`format "${format.name}" must have an async generator as its method write`);
  }
  for await (const piece of written as AsyncIterable<unknown>) {
    const bytes = bytesOf(format, piece);
    if (bytes.length > 0) yield bytes;
  }
}

const CONCATENATED_BYTES = 64 * 1024;

/** Concatenates chunks, with pauses. `Buffer.concat` would block the event loop for milliseconds per 10 MB. */
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

/** Adds the name of the route to a `ResponseError`. */
export const ofRoute = async <T>({ operationId, path }: Route, work: () => Promise<T>): Promise<T> => {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof ResponseError)) throw error;
    throw new ResponseError(`The response of ${operationId} (${path}) cannot be sent: ${error.message}.`);
  }
};

/** Does not read a property of a stored row, because that would parse the row. */
const dataOf = (response: unknown): unknown =>
  rowText(response) === undefined ? (response as { readonly data?: unknown } | null | undefined)?.data : undefined;

export const isStreamed = (response: unknown): response is StreamedList =>
  typeof (dataOf(response) as Partial<StreamedList['data']> | null | undefined)?.[Symbol.asyncIterator] === 'function';
