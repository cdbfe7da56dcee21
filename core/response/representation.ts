/** A resource's bytes in one format, with their validators and compressed encodings. */
import { isAscii } from 'node:buffer';
import { hash } from 'node:crypto';
import type { Transform } from 'node:stream';
import { promisify } from 'node:util';
import { brotliCompress, constants, createBrotliCompress, createGzip, gzip } from 'node:zlib';
import Negotiator from 'negotiator';
import { memoize } from '../util/lru-map.js';
import { JSON_TYPE, jsonOf } from './formats.js';
import { linesOf } from './headers.js';

/** Bytes, or ASCII text. */
export type Payload = Buffer | string;

/**
 * A body up to this size is sent as one string with the header lines, in one system call. It is kept as a string only
 * if it is ASCII, with one byte per character.
 */
export const WRITTEN_AS_TEXT_BYTES = 8 * 1024;

export const payloadOf = (body: Buffer): Payload =>
  body.length <= WRITTEN_AS_TEXT_BYTES && isAscii(body) ? body.toString('latin1') : body;

/** A status with its header lines and body, ready to be sent without further checks. */
export class Prepared {
  /**
   * @param head the header lines that describe the body
   * @param payload undefined if the status has no body
   */
  constructor(
    readonly status: number,
    readonly head: string,
    readonly payload?: Payload,
  ) {}
}

/**
 * Longer `Accept` and `Accept-Encoding` headers are ignored, as RFC 9110 (12.5.1, 12.5.3) allows. Parsing them would
 * cost more than the response. Browsers send at most 200 characters.
 */
const MAX_NEGOTIATED_LENGTH = 512;

export type Encoding = 'br' | 'gzip' | 'identity';

// The published types of negotiator 0.6 lack the second argument of version 1.
type ChooseEncodings = (available: readonly string[], options: { preferred: readonly string[] }) => string[];

const negotiateEncoding = memoize((value): Encoding => {
  const negotiator = new Negotiator({ headers: { 'accept-encoding': value } });
  const encodings = negotiator.encodings.bind(negotiator) as ChooseEncodings;
  const [best] = encodings(['br', 'gzip', 'identity'], { preferred: ['br', 'gzip'] });
  return (best as Encoding | undefined) ?? 'identity';
});

/** The best encoding that the client accepts, or identity if it accepts none, as RFC 9110 (12.5.3) allows. */
export const chooseEncoding = (acceptEncoding: string | undefined): Encoding =>
  acceptEncoding === undefined || acceptEncoding.length > MAX_NEGOTIATED_LENGTH
    ? 'identity'
    : negotiateEncoding(acceptEncoding);

/** Chooses the best offer of an endpoint for an `Accept` header; undefined if the header excludes all. */
export const mediaTypeChooser = <Offer extends { readonly mediaType: string }>(offers: readonly Offer[]) => {
  const types = offers.map(({ mediaType }) => mediaType);
  const judge = memoize((value) => {
    const [best] = new Negotiator({ headers: { accept: value } }).mediaTypes(types);
    return offers.find(({ mediaType }) => mediaType === best) ?? null;
  });
  return (accept: string | undefined): Offer | undefined =>
    accept === undefined || accept.length > MAX_NEGOTIATED_LENGTH ? offers[0] : (judge(accept) ?? undefined);
};

const gzipAsync = promisify(gzip);
const brotliAsync = promisify(brotliCompress);

/** Smaller bodies gain nothing from compression. */
const COMPRESSED_FROM_BYTES = 1024;
/** Compresses JSON well in a tenth of the time of the default level. */
const BROTLI_QUALITY = 5;

/**
 * A longer `If-None-Match` is ignored: caches send few tags, and parsing more would cost more than the response.
 */
const LONGEST_TAGS = 1024;
/** A longer `If-Modified-Since` is ignored; HTTP dates have 29 characters. */
const LONGEST_DATE = 64;

/** One encoding of the body, ready to be sent as a 200. */
export class Encoded extends Prepared {
  /** The 304 response. */
  readonly notModified: Prepared;

  constructor(
    readonly body: Buffer,
    readonly encoding: Encoding,
    readonly etag: string,
    /** Header lines of this encoding only. */
    ownHead: string,
    /** Header lines of every encoding and of the 304. */
    head: string,
  ) {
    const notModifiedHead = `ETag: ${etag}\r\n${head}`;
    super(200, ownHead + notModifiedHead, payloadOf(body));
    this.notModified = new Prepared(304, notModifiedHead);
  }
}

interface RepresentationOptions {
  readonly lastModified: Date;
  /** Further header lines of every encoding, such as `Cache-Control`. */
  readonly head: string;
  /** Whether the format is compressed, like Parquet, so that the body gets no `Content-Encoding`. Default false. */
  readonly isCompressed?: boolean;
  /** The body's SHA-256 in base64url, if it is known. */
  readonly sha256?: string;
}

export const jsonRepresentation = (data: unknown, options: RepresentationOptions): Representation =>
  new Representation(Buffer.from(jsonOf(data)), JSON_TYPE, options);

/** Memoized, since all representations of a snapshot have the same date. */
const datedLines = memoize((lastModified) =>
  linesOf({ 'Last-Modified': new Date(Number(lastModified)).toUTCString(), Vary: 'Accept, Accept-Encoding' }),
);

/** The ETag and date of a representation. */
export class Validators {
  readonly lastModified: number;
  readonly #digest: string;

  /** @param sha256 in base64url */
  constructor(sha256: string, lastModified: Date) {
    this.#digest = sha256.slice(0, 27);
    // HTTP dates have whole seconds.
    this.lastModified = Math.floor(lastModified.getTime() / 1000) * 1000;
  }

  /** Header lines of all encodings. */
  get lines(): string {
    return datedLines(String(this.lastModified));
  }

  etag(encoding: Encoding): string {
    return encoding === 'identity' ? `"${this.#digest}"` : `"${this.#digest}-${encoding}"`;
  }

  /** Whether the client's copy is current, by RFC 9110 (13.1.2, 13.1.3). `If-None-Match` has precedence. */
  isFresh(ifNoneMatch: string | undefined, ifModifiedSince: string | undefined): boolean {
    if (ifNoneMatch !== undefined) return this.matches(ifNoneMatch);
    if (ifModifiedSince === undefined) return false;
    const since = ifModifiedSince.length > LONGEST_DATE ? Number.NaN : Date.parse(ifModifiedSince);
    return !Number.isNaN(since) && this.lastModified <= since;
  }

  matches(ifNoneMatch: string): boolean {
    if (ifNoneMatch.length > LONGEST_TAGS) return false;
    if (ifNoneMatch.trim() === '*') return true;
    // The tags of all encodings have the same digest, so any of them shows that the content is current.
    return ifNoneMatch.split(',').some((tag) => {
      const opaque = /^\s*(?:W\/)?"([^"]*)"\s*$/.exec(tag)?.[1];
      return (
        opaque !== undefined && (opaque === this.#digest || /^(.*)-(?:br|gzip)$/.exec(opaque)?.[1] === this.#digest)
      );
    });
  }
}

const BROTLI_PARAMS = { [constants.BROTLI_PARAM_QUALITY]: BROTLI_QUALITY };

/** A stream that compresses as representations are compressed. */
export const compressor = (encoding: 'br' | 'gzip'): Transform =>
  encoding === 'gzip' ? createGzip() : createBrotliCompress({ params: BROTLI_PARAMS });

export class Representation extends Validators {
  readonly identity: Encoded;
  readonly #contentType: string;
  readonly #isCompressible: boolean;
  /** Header lines of all encodings. */
  readonly #head: string;
  readonly #encodings = new Map<Encoding, Encoded | Promise<Encoded>>();

  constructor(body: Buffer, contentType: string, options: RepresentationOptions) {
    super(options.sha256 ?? hash('sha256', body, 'base64url'), options.lastModified);
    this.#contentType = contentType;
    this.#head = options.head + this.lines;
    this.#isCompressible = !options.isCompressed && body.length >= COMPRESSED_FROM_BYTES;
    this.identity = this.#encoded(body, 'identity');
  }

  /** The size of the bodies of all encodings in bytes. */
  get size(): number {
    let size = this.identity.body.length;
    for (const encoded of this.#encodings.values()) if (!(encoded instanceof Promise)) size += encoded.body.length;
    return size;
  }

  /** Whether `encoding` returns without compressing first. */
  has(encoding: Encoding): boolean {
    return encoding === 'identity' || !this.#isCompressible || this.#encodings.get(encoding) instanceof Encoded;
  }

  /** Compresses the body on another thread at the first request for an encoding. Small bodies are not compressed. */
  encoding(encoding: Encoding): Encoded | Promise<Encoded> {
    if (encoding === 'identity' || !this.#isCompressible) return this.identity;
    const known = this.#encodings.get(encoding);
    if (known) return known;
    const compressed = this.#compress(encoding).then((body) => {
      const encoded = this.#encoded(body, encoding);
      this.#encodings.set(encoding, encoded);
      return encoded;
    });
    this.#encodings.set(encoding, compressed);
    compressed.catch(() => this.#encodings.delete(encoding));
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
