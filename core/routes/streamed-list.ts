/** The response of a handler that returns a `StreamedList`. Large lists are sent while they are being read. */
import type { IncomingMessage } from 'node:http';
import { pipeline, Readable } from 'node:stream';
import type { Collection } from '../contracts/dataset.js';
import type { Logger } from '../contracts/runtime.js';
import type { Snapshot } from '../contracts/storage.js';
import { timedReader } from '../data/checked-snapshot.js';
import { compressor, type Encoding, Prepared, Representation, Validators } from '../response/representation.js';
import type { Pauses } from '../util/event-loop.js';
import {
  buildOrStart,
  LARGE_LIST_BYTES,
  largeListDigest,
  representationOf,
  type StartedList,
} from './build-response.js';
import { callHandler, type HandlerResult } from './call-handler.js';
import type { DataRequest, ResponseCache } from './response-cache.js';

export interface ListOptions {
  readonly collections: ReadonlyMap<string, Collection>;
  readonly stallMs: number;
  readonly responses: ResponseCache;
}

interface ListSource {
  /** The normalized request. */
  readonly request: DataRequest;
  /** Default: the cache key of the request. */
  readonly cacheKey?: string;
  /** Undefined if the handler was called for a concurrent request with the same cache key. */
  readonly result: HandlerResult | undefined;
  /** Stays locked until `release` is called. */
  readonly snapshot: Snapshot;
  readonly release: () => void;
}

interface OpenList {
  readonly lines: string;
  readonly body: Readable;
}

/**
 * A large list is collected in memory while it is being sent, and then cached. A process collects at most this many
 * lists at the same time, for all response caches together.
 */
const COLLECTED = 2;
let collected = 0;

/** No rows are read until `open` is called. */
export class StreamedListResponse {
  readonly #request: DataRequest;
  readonly #cacheKey: string;
  readonly #snapshot: Snapshot;
  readonly #options: ListOptions;
  /** Undefined until the handler has been called for this request. */
  #result: HandlerResult | undefined;
  /** Set only for a large list. The ETag of a small list is computed from its body. */
  readonly #validators: Validators;
  #started: StartedList | undefined;
  #release: (() => void) | undefined;
  #close: () => void = () => undefined;
  readonly closed = new Promise<void>((resolve) => {
    this.#close = resolve;
  });

  constructor({ request, cacheKey = request.cacheKey, result, snapshot, release }: ListSource, options: ListOptions) {
    this.#validators = new Validators(largeListDigest(request.cacheKey, snapshot.version), snapshot.publishedAt);
    this.#request = request;
    this.#cacheKey = cacheKey;
    this.#result = result;
    this.#snapshot = snapshot;
    this.#release = release;
    this.#options = options;
  }

  release(): void {
    this.#started?.reading.close();
    this.#release?.();
    this.#release = undefined;
    this.#close();
  }

  /** Responds to HEAD and conditional requests for a large list without reading any rows. */
  async prepare({ method, headers }: IncomingMessage, accepted: Encoding): Promise<Prepared | undefined> {
    const tags = headers['if-none-match'];
    const isLarge = this.#isLarge || (tags !== undefined && tags.trim() !== '*' && this.#validators.matches(tags));
    const isFresh = this.#validators.isFresh(tags, headers['if-modified-since']);
    if (!isLarge || (!isFresh && method !== 'HEAD')) return undefined;
    const { head } = await this.#handled();
    return new Prepared(isFresh ? 304 : 200, this.#lines(isFresh, accepted, head));
  }

  /**
   * Reads a small list completely, and only the first chunks of a large list. Errors that occur here become an error
   * response. A large list is released automatically when its body closes. A small list must be released with
   * `release`.
   */
  async open(pauses: Pauses, accepted: Encoding, logger: Logger): Promise<Representation | OpenList> {
    const { responses } = this.#options;
    const cached = responses.get(this.#cacheKey);
    if (cached) return cached;
    const shared = this.#isLarge
      ? undefined
      : await responses.getOrCompute(
          this.#request,
          () => this.#build(pauses, Math.max(LARGE_LIST_BYTES, responses.mostBytes)),
          this.#cacheKey,
        );
    const built = shared ?? (await this.#build(pauses, 0));
    if (built instanceof Representation) return built;
    responses.setLarge(this.#cacheKey);
    this.#started = built;
    const source = Readable.from(this.#chunks(built, logger), { objectMode: false });
    source.once('close', () => this.release());
    const encoding = this.#encoding(accepted);
    const body = encoding === 'identity' ? source : pipeline(source, compressor(encoding), () => undefined);
    return { lines: this.#lines(false, accepted, built.head), body };
  }

  get #isLarge(): boolean {
    return this.#options.responses.isLarge(this.#cacheKey);
  }

  #encoding(accepted: Encoding): Encoding {
    return this.#request.format.isCompressed ? 'identity' : accepted;
  }

  #lines(isFresh: boolean, accepted: Encoding, head: string): string {
    const encoding = this.#encoding(accepted);
    const coding = encoding === 'identity' ? '' : `Content-Encoding: ${encoding}\r\n`;
    const type = isFresh ? '' : `Content-Type: ${this.#request.format.mediaTypes[0]}\r\n${coding}`;
    return `${type}ETag: ${this.#validators.etag(encoding)}\r\n${head}${this.#validators.lines}`;
  }

  async #handled(pauses?: Pauses): Promise<HandlerResult> {
    if (this.#result) return this.#result;
    const { collections, stallMs } = this.#options;
    const read = timedReader(this.#snapshot, collections, stallMs, pauses);
    this.#result = await read((reader) => callHandler(this.#request, reader));
    return this.#result;
  }

  async #build(pauses: Pauses, mostBytes: number): Promise<Representation | StartedList> {
    const { stallMs } = this.#options;
    const aheadBytes = mostBytes > 0 ? LARGE_LIST_BYTES : 0;
    const limits = { mostBytes, mostStoredBytes: LARGE_LIST_BYTES, aheadBytes, stallMs };
    return buildOrStart(this.#request, this.#snapshot, await this.#handled(pauses), pauses, limits);
  }

  async *#chunks({ head, first, reading }: StartedList, logger: Logger): AsyncGenerator<Buffer> {
    const { responses } = this.#options;
    let kept: Buffer[] | undefined = collected < COLLECTED ? [] : undefined;
    if (kept) collected++;
    const forget = () => {
      if (kept) collected--;
      kept = undefined;
    };
    let size = 0;
    const chunks = [...first];
    try {
      for (;;) {
        const chunk = chunks.shift() ?? (await this.#next(reading, logger));
        if (!chunk) break;
        size += chunk.length;
        if (size > responses.mostBytes) forget();
        kept?.push(chunk);
        yield chunk;
      }
      if (!kept) return;
      const sha256 = largeListDigest(this.#request.cacheKey, this.#snapshot.version);
      const body = Buffer.concat(kept, size);
      responses.set(
        this.#request,
        representationOf(this.#request, this.#snapshot, body, { head, sha256 }),
        this.#cacheKey,
      );
    } finally {
      forget();
    }
  }

  async #next(reading: StartedList['reading'], logger: Logger): Promise<Buffer | undefined> {
    try {
      return ((await reading.next()) as { readonly value?: Buffer }).value;
    } catch (err) {
      // No warning is logged if the list has already been released, because the client has then closed the connection.
      if (this.#release) logger.warn({ err }, 'a list could not be sent completely; closing the connection');
      throw err;
    }
  }
}
