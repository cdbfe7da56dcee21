/** Calls the handler of a data route, and writes its rows in the requested format. */
import type { Column, DataContext, Format, Route, Row, SnapshotReader, StreamedList } from '../contracts/plugin.js';
import type { CheckedReader, TimedRead } from '../data/checked-snapshot.js';
import { inBatches, rowText, textOf } from '../data/lazy-rows.js';
import { ApiError, errors } from '../errors.js';
import { AS_OF, declaredHeaders, FORMAT, listColumns, typedColumns } from '../registry/route-defaults.js';
import { jsonOf, ResponseError } from '../response/formats.js';
import { linesOf } from '../response/headers.js';
import type { Pauses } from '../util/event-loop.js';
import { memoize } from '../util/lru-map.js';
import type { Input } from './input.js';
import { valueText } from './parameter-values.js';
import { type DataRequest, dataRequest } from './response-cache.js';

export const normalizedIn = (request: DataRequest, read: TimedRead): DataRequest | Promise<DataRequest> => {
  const { route, input, format } = request;
  if (!route.normalizeIn) return request;
  return read(async (snapshot) => ({
    ...request,
    ...dataRequest(route, await inTime(route, snapshot, () => route.normalizeIn!(input as never, snapshot)), format),
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

interface PiecesOptions {
  /** How many bytes of stored text to read before the first piece is written. Default: 0. */
  readonly aheadBytes?: number | undefined;
  /** Replaces the time limit of the handler's reads. By default, the time limit does not change. */
  readonly until?: AbortSignal | undefined;
}

/** The result of a handler. Reading the pieces reads the rows, and is possible only once. */
export interface HandlerResult {
  /** Header lines that are sent with every encoding and with a 304. */
  readonly head: string;
  /** Yields the body in pieces. Undefined if the response is not a list. */
  readonly pieces: ((pauses: Pauses, options?: PiecesOptions) => AsyncGenerator<Buffer>) | undefined;
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

export const callHandler = async (request: DataRequest, reader: CheckedReader): Promise<HandlerResult> => {
  const { route, input, format } = request;
  const headers: Record<string, string> = {};
  const response = await inTime(route, reader, () =>
    route.handler(input as never, contextOf(request, reader, headers)),
  );
  const selection = selected(route, route.columns?.(input as never));
  const batches = isStreamed(response) ? response.data : batchesOf(response);
  let hasRead = false;
  let isStored = true;
  let storedBytes = 0;
  async function* noted(lists: NonNullable<typeof batches>) {
    for await (const list of lists) {
      const text = textOf(list);
      hasRead = true;
      isStored &&= text !== undefined;
      for (const { json } of text ?? []) storedBytes += json.length;
      yield selection.of(list as readonly Row[]);
    }
  }
  return {
    head: headOf(reader.version) + linesOf(headers),
    pieces:
      batches &&
      ((pauses, { aheadBytes = 0, until } = {}) => {
        if (until) reader.readUntil(until, pauses);
        // The size of rows that are not stored as text is known only when they are written.
        const ahead = readAhead(noted(batches), () => isStored && storedBytes < aheadBytes, pauses);
        return piecesOf(format, ahead, selection.columns, pauses);
      }),
    hasRead: () => hasRead,
    storedBytes: () => storedBytes,
    isStreamed: isStreamed(response),
    whole: () => Buffer.from(jsonOf(response)),
  };
};

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

const inTime = <Result>(route: Route, reader: CheckedReader, handle: () => Promise<Result>): Promise<Result> =>
  reader.bounded(ofRoute(route, handle), (ms) => handlerTimeout(route.path, ms));

export const handlerTimeout = (path: string, ms: number): ApiError =>
  new ApiError(errors.service_unavailable, undefined, {
    cause: new Error(`The handler of ${path} did not respond within ${ms} ms.`),
  });

/** Adds the name of the route to a `ResponseError`. */
export const ofRoute = async <T>({ operationId, path }: Route, work: () => Promise<T>): Promise<T> => {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof ResponseError)) throw error;
    throw new ResponseError(`The response of ${operationId} (${path}) cannot be sent: ${error.message}.`);
  }
};

/** Returns the property `data`. Ignores stored rows, because reading a property would parse the row. */
const dataOf = (response: unknown): unknown =>
  rowText(response) === undefined ? (response as { readonly data?: unknown } | null | undefined)?.data : undefined;

export const isStreamed = (response: unknown): response is StreamedList =>
  typeof (dataOf(response) as Partial<StreamedList['data']> | null | undefined)?.[Symbol.asyncIterator] === 'function';
