import { hash } from 'node:crypto';
import type { Transform } from 'node:stream';
import { promisify } from 'node:util';
import { brotliCompress, constants, createBrotliCompress, createGzip, gzip } from 'node:zlib';
import Negotiator from 'negotiator';
import { memoize } from '../util/lru-map.js';
import { JSON_TYPE, jsonOf } from './formats.js';
import { linesOf } from './headers.js';

/** The body of a response, as bytes or as a string with one Latin-1 character per byte. */
export type Payload = Buffer | string;

/**
 * Bodies up to 8 KiB are sent together with the header lines, in one system call. They are stored as strings with one
 * byte per character, because a small buffer could keep a whole slab of Node's buffer pool in memory.
 */
const WRITTEN_AS_TEXT_BYTES = 8 * 1024;

export const payloadOf = (body: Buffer): Payload =>
  body.length <= WRITTEN_AS_TEXT_BYTES ? body.toString('latin1') : body;

export class Prepared {
  /** @param payload undefined if the status does not allow a body */
  constructor(
    readonly status: number,
    readonly head: string,
    readonly payload?: Payload,
  ) {}

  get body(): Buffer {
    const { payload = '' } = this;
    return typeof payload === 'string' ? Buffer.from(payload, 'latin1') : payload;
  }
}

/**
 * Longer `Accept` and `Accept-Encoding` headers are ignored (RFC 9110, 12.5.1 and 12.5.3), because parsing them would
 * cost more than the response. Browsers send at most 200 characters.
 */
const MAX_NEGOTIATED_LENGTH = 512;

export type Encoding = 'br' | 'gzip' | 'identity';

type ChooseEncodings = (available: readonly string[], options: { preferred: readonly string[] }) => string[];

const negotiateEncoding = memoize((value): Encoding => {
  const negotiator = new Negotiator({ headers: { 'accept-encoding': value } });
  const encodings = negotiator.encodings.bind(negotiator) as ChooseEncodings;
  const [best] = encodings(['br', 'gzip', 'identity'], { preferred: ['br', 'gzip'] });
  return (best as Encoding | undefined) ?? 'identity';
});

export const chooseEncoding = (acceptEncoding: string | undefined): Encoding =>
  acceptEncoding === undefined || acceptEncoding.length > MAX_NEGOTIATED_LENGTH
    ? 'identity'
    : negotiateEncoding(acceptEncoding);

export const mediaTypeChooser = <Offer extends { readonly mediaTypes: readonly string[] }>(
  offers: readonly Offer[],
) => {
  const types = offers.flatMap(({ mediaTypes }) => mediaTypes);
  const judge = memoize((value) => {
    // An empty list excludes nothing.
    if (/^[\s,]*$/.test(value)) return offers[0]!;
    const [best] = new Negotiator({ headers: { accept: value } }).mediaTypes(types);
    return offers.find(({ mediaTypes }) => mediaTypes.includes(best!)) ?? null;
  });
  return (accept: string | undefined): Offer | undefined =>
    accept === undefined || accept.length > MAX_NEGOTIATED_LENGTH ? offers[0] : (judge(accept) ?? undefined);
};

const gzipAsync = promisify(gzip);
const brotliAsync = promisify(brotliCompress);

/** Bodies below 1 KiB do not benefit from compression. */
const COMPRESSED_FROM_BYTES = 1024;
/** Brotli quality 5 is ten times as fast as the default quality. JSON is still compressed well. */
const BROTLI_QUALITY = 5;

/**
 * The maximum length of `If-None-Match`. Caches send only a few tags, and parsing a longer header would cost more than
 * sending the response.
 */
const LONGEST_TAGS = 1024;
/** The three formats of RFC 9110, 5.6.7. The last one has no time zone, and means UTC. */
const HTTP_DATES = [
  /^[A-Z][a-z]{2}, \d\d [A-Z][a-z]{2} \d{4} [\d:]{8} GMT$/,
  /^[A-Z][a-z]{5,8}, \d\d-[A-Z][a-z]{2}-\d\d [\d:]{8} GMT$/,
  /^[A-Z][a-z]{2} [A-Z][a-z]{2} [ \d]\d [\d:]{8} \d{4}$/,
];

/** Returns NaN for other formats, which `Date.parse` would accept, and which RFC 9110, 13.1.3 ignores. */
const timeOf = (date: string): number =>
  HTTP_DATES.some((format) => format.test(date)) ? Date.parse(date.endsWith('GMT') ? date : `${date} GMT`) : Number.NaN;

export class Encoded extends Prepared {
  readonly #notModifiedHead: string;

  constructor(
    body: Buffer,
    readonly encoding: Encoding,
    readonly etag: string,
    ownHead: string,
    head: string,
  ) {
    const notModifiedHead = `ETag: ${etag}\r\n${head}`;
    super(200, ownHead + notModifiedHead, payloadOf(body));
    this.#notModifiedHead = notModifiedHead;
  }

  get notModified(): Prepared {
    return new Prepared(304, this.#notModifiedHead);
  }

  get size(): number {
    return this.payload!.length;
  }
}

interface RepresentationOptions {
  readonly lastModified: Date;
  readonly head: string;
  readonly isCompressed?: boolean;
  readonly sha256?: string | undefined;
}

export const jsonRepresentation = (data: unknown, options: RepresentationOptions): Representation =>
  new Representation(Buffer.from(jsonOf(data)), JSON_TYPE, options);

const datedLines = memoize((lastModified) =>
  linesOf({ 'Last-Modified': new Date(Number(lastModified)).toUTCString(), Vary: 'Accept, Accept-Encoding' }),
);

/** The digest in an ETag has 27 base64url characters, which contain 162 bits. */
const DIGEST_LENGTH = 27;

export class Validators {
  readonly lastModified: number;
  readonly #digest: string;

  constructor(sha256: string, lastModified: Date) {
    this.#digest = sha256.slice(0, DIGEST_LENGTH);
    this.lastModified = Math.floor(lastModified.getTime() / 1000) * 1000;
  }

  get lines(): string {
    return datedLines(String(this.lastModified));
  }

  etag(encoding: Encoding): string {
    return encoding === 'identity' ? `"${this.#digest}"` : `"${this.#digest}-${encoding}"`;
  }

  /** `If-None-Match` takes precedence over `If-Modified-Since` (RFC 9110, 13.1.2 and 13.1.3). */
  isFresh(ifNoneMatch: string | undefined, ifModifiedSince: string | undefined): boolean {
    if (ifNoneMatch !== undefined) return this.matches(ifNoneMatch);
    if (ifModifiedSince === undefined) return false;
    return this.lastModified <= timeOf(ifModifiedSince);
  }

  matches(ifNoneMatch: string): boolean {
    if (ifNoneMatch.length > LONGEST_TAGS) return false;
    if (ifNoneMatch.trim() === '*') return true;
    // The ETags of all encodings contain the same digest, so a match with any of them is enough.
    return ifNoneMatch.split(',').some((tag) => {
      const opaque = /^\s*(?:W\/)?"([^"]*)"\s*$/.exec(tag)?.[1];
      return (
        opaque !== undefined && (opaque === this.#digest || /^(.*)-(?:br|gzip)$/.exec(opaque)?.[1] === this.#digest)
      );
    });
  }
}

export const identityOf = (body: Prepared | Representation): Prepared =>
  body instanceof Representation ? body.identity : body;

const BROTLI_PARAMS = { [constants.BROTLI_PARAM_QUALITY]: BROTLI_QUALITY };

export const compressor = (encoding: 'br' | 'gzip'): Transform =>
  encoding === 'gzip' ? createGzip() : createBrotliCompress({ params: BROTLI_PARAMS });

export class Representation extends Validators {
  readonly identity: Encoded;
  readonly #contentType: string;
  readonly #isCompressible: boolean;
  readonly #head: string;
  /**
   * The compressed bodies. The map is created on first use, because most responses with a single document are too small
   * to be compressed.
   */
  #encodings: Map<Encoding, Encoded | Promise<Encoded>> | undefined;
  /** Called when a compressed body is added. */
  onGrowth: ((bytes: number) => void) | undefined;

  constructor(body: Buffer, contentType: string, options: RepresentationOptions) {
    super(options.sha256 ?? hash('sha256', body, 'base64url'), options.lastModified);
    this.#contentType = contentType;
    this.#head = options.head + this.lines;
    this.#isCompressible = !options.isCompressed && body.length >= COMPRESSED_FROM_BYTES;
    this.identity = this.#encoded(body, 'identity');
  }

  get size(): number {
    let { size } = this.identity;
    for (const encoded of this.#encodings?.values() ?? []) if (!(encoded instanceof Promise)) size += encoded.size;
    return size;
  }

  has(encoding: Encoding): boolean {
    return encoding === 'identity' || !this.#isCompressible || this.#encodings?.get(encoding) instanceof Encoded;
  }

  encoding(encoding: Encoding): Encoded | Promise<Encoded> {
    if (encoding === 'identity' || !this.#isCompressible) return this.identity;
    this.#encodings ??= new Map();
    const encodings = this.#encodings;
    const known = encodings.get(encoding);
    if (known) return known;
    const compressed = this.#compress(encoding).then((body) => {
      const encoded = this.#encoded(body, encoding);
      encodings.set(encoding, encoded);
      this.onGrowth?.(encoded.size);
      return encoded;
    });
    encodings.set(encoding, compressed);
    compressed.catch(() => encodings.delete(encoding));
    return compressed;
  }

  #compress(encoding: 'br' | 'gzip'): Promise<Buffer> {
    const { body } = this.identity;
    return encoding === 'gzip'
      ? gzipAsync(body)
      : brotliAsync(body, {
          params: { ...BROTLI_PARAMS, [constants.BROTLI_PARAM_SIZE_HINT]: body.length },
        });
  }

  #encoded(body: Buffer, encoding: Encoding): Encoded {
    const coding = encoding === 'identity' ? '' : `Content-Encoding: ${encoding}\r\n`;
    const ownHead = `Content-Type: ${this.#contentType}\r\nContent-Length: ${body.length}\r\n${coding}`;
    return new Encoded(body, encoding, this.etag(encoding), ownHead, this.#head);
  }
}
