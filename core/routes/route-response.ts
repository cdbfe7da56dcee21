/** Calls the handler of a route, validates the response against its schema, and writes the representation. */
import { createHash, hash } from 'node:crypto';
import type { Config } from '../config/schema.js';
import type {
  Column,
  DataContext,
  DataRoute,
  Format,
  Route,
  Row,
  ServiceRoute,
  SnapshotReader,
  StreamedList,
} from '../contracts/plugin.js';
import type { Logger } from '../contracts/runtime.js';
import type { CheckedReader } from '../data/checked-snapshot.js';
import { inBatches, textOf } from '../data/lazy-rows.js';
import { AS_OF, declaredHeaders, FORMAT, listColumns, typedColumns } from '../registry/route-defaults.js';
import { jsonOf, ResponseError } from '../response/formats.js';
import { linesOf } from '../response/headers.js';
import { Representation } from '../response/representation.js';
import type { Pauses } from '../util/event-loop.js';
import { memoize } from '../util/lru-map.js';
import { packageVersion } from '../util/package.js';
import { compileSchema, type ErrorObject, type ValidateFunction } from '../validation/compile-schema.js';
import type { Input } from './input.js';
import { ListReading } from './list-reading.js';
import { valueText } from './parameter-values.js';
import { type DataRequest, dataRequest } from './response-cache.js';

/** Returns the equivalent request for this snapshot. See `normalizeIn` of `DataRoute`. */
export const normalizedIn = async (request: DataRequest, snapshot: SnapshotReader): Promise<DataRequest> => {
  const { route, input, format } = request;
  if (!route.normalizeIn) return request;
  return { ...request, ...dataRequest(route, await route.normalizeIn(input as never, snapshot), format) };
};

const headOf = memoize((version) => linesOf({ 'Cache-Control': 'private, no-cache', 'Snapshot-Version': version }));

/**
 * Returns the query with changed parameters. It includes the format, since the client may have chosen the format with
 * `Accept`.
 */
const referenceOf = ({ route, input, format, asOf }: DataRequest, changes: Input): string => {
  const inPath = Object.keys(route.parameters?.path ?? {});
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(input)) if (!inPath.includes(name)) query.set(name, valueText(value));
  if (listColumns(route)) query.set(FORMAT, format.name);
  if (asOf !== undefined) query.set(AS_OF, asOf);
  for (const [name, value] of Object.entries(changes)) query.set(name, valueText(value));
  return `?${query}`;
};

/** @param headers the headers that the handler sets are added to this object */
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

/** The response of a handler, ready to be written. */
interface Response {
  /** Header lines for every encoding and for a 304. */
  readonly head: string;
  /** The body in pieces, each of which is written only when it is read. Undefined if the response is not a list. */
  readonly pieces: ((pauses: Pauses) => AsyncGenerator<Buffer>) | undefined;
  /** Whether the rows are read from the store while the list is written. */
  readonly isStreamed: boolean;
  /** The bytes of row text that were passed on as stored. Rows that the handler parsed or created are not counted. */
  readonly storedBytes: () => number;
  /** Writes the body of a response that is not a list. */
  readonly whole: () => Buffer;
}

/** The columns to send. If the route chooses some of them, `of` removes all other properties of the rows. */
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

/** Calls the handler. Rejects with the handler's error. */
export const callHandler = async (request: DataRequest, snapshot: SnapshotReader): Promise<Response> => {
  const { route, input, format } = request;
  const headers: Record<string, string> = {};
  const response = await route.handler(input as never, contextOf(request, snapshot, headers));
  const selection = selected(route, route.columns?.(input as never));
  const batches = isStreamed(response) ? response.data : batchesOf(response);
  let storedBytes = 0;
  async function* noted(lists: NonNullable<typeof batches>) {
    for await (const list of lists) {
      for (const { json } of textOf(list) ?? []) storedBytes += json.length;
      yield selection.of(list as readonly Row[]);
    }
  }
  return {
    head: headOf(snapshot.version) + linesOf(headers),
    pieces: batches && ((pauses) => piecesOf(format, noted(batches), selection.columns, pauses)),
    storedBytes: () => storedBytes,
    isStreamed: isStreamed(response),
    whole: () => Buffer.from(jsonOf(response)),
  };
};

/**
 * If the stored text of a list's rows is larger than this, the list is sent while it is being read. Lists with computed
 * rows take longer, so they are built as a whole and shared by all requests, unless they are too large for the cache.
 */
export const LARGE_LIST_BYTES = 1024 * 1024;

/** The SHA-256 for the ETag of a large list, computed before its body is known. The version identifies the rows. */
export const largeListDigest = (cacheKey: string, version: string): string =>
  hash('sha256', `${packageVersion} ${version} ${cacheKey}`, 'base64url');

/** A streamed list that is too large to be built as a whole. Its first chunks have already been read. */
export interface StartedList {
  readonly head: string;
  readonly first: readonly Buffer[];
  readonly reading: ListReading;
}

interface ListLimits {
  /**
   * The largest streamed list, in bytes, that is built as a whole. If undefined, no streamed list is read. See
   * `LARGE_LIST_BYTES`.
   */
  readonly mostBytes?: number;
  /** Whether `mostBytes` also replaces the limit for stored rows. Default: false. */
  readonly isWhole?: boolean;
  /** If no chunk arrives for this many milliseconds, reading the list fails. */
  readonly stallMs: number;
}

/**
 * Rejects with the handler's error. Resolves with undefined for a streamed list if `mostBytes` is undefined.
 * @param pauses awaited between two batches of a list
 */
export const buildRepresentation = (
  request: DataRequest,
  reader: CheckedReader,
  pauses: Pauses,
  { mostBytes, stallMs, isWhole = false }: ListLimits,
): Promise<Representation | StartedList | undefined> =>
  ofRoute(request.route, async () => {
    const { head, pieces, isStreamed, storedBytes, whole } = await callHandler(request, reader);
    const options = { head, lastModified: reader.publishedAt, isCompressed: request.format.isCompressed ?? false };
    const mediaType = request.format.mediaTypes[0]!;
    if (!pieces) return new Representation(whole(), mediaType, options);
    const chunks: Buffer[] = [];
    let size = 0;
    if (!isStreamed) {
      for await (const piece of pieces(pauses)) size += chunks[chunks.push(piece) - 1]!.length;
      return new Representation(await together(chunks, size, pauses), mediaType, options);
    }
    if (mostBytes === undefined) return undefined;
    const reading = new ListReading(pieces(pauses), reader, stallMs);
    const sum = createHash('sha256');
    for (let next = await reading.next(); !next.done; next = await reading.next()) {
      chunks.push(next.value);
      size += next.value.length;
      const isLarge = size > mostBytes || (!isWhole && storedBytes() > LARGE_LIST_BYTES);
      if (isLarge) return { head, first: chunks, reading };
      sum.update(next.value);
    }
    const isLarge = storedBytes() > LARGE_LIST_BYTES;
    const sha256 = isLarge ? largeListDigest(request.cacheKey, reader.version) : sum.digest('base64url');
    return new Representation(await together(chunks, size, pauses), mediaType, { ...options, sha256 });
  });

const bytesOf = (written: string | Uint8Array): Buffer => {
  if (typeof written === 'string') return Buffer.from(written);
  return Buffer.isBuffer(written) ? written : Buffer.from(written.buffer, written.byteOffset, written.byteLength);
};

/** The number of rows that are written between two pauses, which takes about a tenth of a millisecond. */
const BATCH = 100;

/** Splits a list into batches. Undefined for other responses. */
const batchesOf = (response: unknown): Iterable<readonly object[]> | undefined => {
  const { data, ...others } = (response ?? {}) as { readonly data?: unknown };
  const isList = Array.isArray(data) && Object.keys(others).length === 0;
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
  for await (const piece of format.write(paced(), columns)) if (piece.length > 0) yield bytesOf(piece);
}

/** Chunks of up to this size in total are joined in one step. */
const CONCATENATED_BYTES = 64 * 1024;

/** `Buffer.concat` in steps. Many megabytes at once would take milliseconds, mostly to clear the new memory. */
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

/** With the setting `sample`, one in this many responses of a route is checked. */
const SAMPLED_ONE_IN = 100;

/** Runs `work`. If it rejects with a `ResponseError`, the name of the route is added to the message. */
export const ofRoute = async <T>({ operationId, path }: Route, work: () => T | Promise<T>): Promise<T> => {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof ResponseError)) throw error;
    throw new ResponseError(`The response of ${operationId} (${path}) cannot be sent: ${error.message}.`);
  }
};

/** Wraps the handler of a route so that its responses are checked. Cached responses are not checked again. */
export const checkedRoute = (route: Route, check: Config['http']['responseCheck'], logger: Logger): Route => {
  if (check === 'off') return route;
  const checked = checker(route, check, logger);
  if (route.kind === 'service') {
    const handler: ServiceRoute['handler'] = async (...asked) => checked(await route.handler(...asked));
    return { ...route, handler };
  }
  const handler: DataRoute['handler'] = async (...asked) => {
    const response = await route.handler(...asked);
    return isStreamed(response) ? { data: eachBatch(response.data, checked) } : checked(response);
  };
  return { ...route, handler };
};

const isStreamed = (response: unknown): response is StreamedList => {
  const data = (response as Partial<StreamedList> | null)?.data;
  return typeof data?.[Symbol.asyncIterator] === 'function';
};

async function* eachBatch(batches: StreamedList['data'], checked: (response: unknown) => unknown) {
  for await (const batch of batches) yield (checked({ data: batch }) as { data: readonly object[] }).data;
}

/** The returned function returns the response to send. With `cut`, it is a copy without undeclared properties. */
const checker = (
  { operationId, response: { schema } }: Route,
  check: Exclude<Config['http']['responseCheck'], 'off'>,
  logger: Logger,
) => {
  let validate: ValidateFunction | undefined;
  let seen = 0;
  const logged = new Set<string>();
  return (response: unknown): unknown => {
    if (check === 'sample' && seen++ % SAMPLED_ONE_IN !== 0) return response;
    validate ??= compileSchema(schema, check === 'cut' ? { removeAdditional: true } : {});
    // The response as clients see it: JSON omits undefined properties and writes dates as text.
    const sent: unknown = JSON.parse(jsonOf(response));
    if (validate(sent)) return check === 'cut' ? sent : response;
    const problem = `it does not conform to its schema: ${validate.errors!.slice(0, 3).map(described).join(', ')}`;
    if (check === 'refuse') throw new ResponseError(problem);
    // Many rows of a list can have the same problem, so each kind is logged once, without the position of the row.
    const kind = problem.replaceAll(/\/\d+/g, '/*');
    if (!logged.has(kind)) {
      logged.add(kind);
      logger.warn({ operationId, problem }, 'a response does not conform to its schema');
    }
    return check === 'cut' ? sent : response;
  };
};

const described = ({ instancePath, message, params }: ErrorObject): string => {
  const extra = (params['additionalProperty'] ?? params['unevaluatedProperty']) as string | undefined;
  return `${instancePath || 'the whole'} ${extra === undefined ? message : `has the undeclared property "${extra}"`}`;
};
