/** A resource's bytes in one format, with its validators and its compressed encodings. */
import { hash } from 'node:crypto';
import { promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';
import { remember } from '../remember.js';
import { linesOf } from './head.js';
import type { Encoding } from './negotiation.js';
import { Prepared, payloadOf } from './prepared.js';

const gzipAsync = promisify(gzip);
const brotliAsync = promisify(brotliCompress);

/** Smaller bodies gain nothing from compression. */
const COMPRESSED_FROM_BYTES = 1024;
/** Good for JSON at a tenth of the default level's time. */
const BROTLI_QUALITY = 5;

/** One encoding of the body, ready to be sent as a 200. */
export class Encoded extends Prepared {
  /** The response where the client's copy is current. */
  readonly notModified: Prepared;

  constructor(
    readonly body: Buffer,
    readonly encoding: Encoding,
    readonly etag: string,
    /** Of this encoding alone. */
    ownHead: string,
    /** Of every encoding, and of a 304. */
    head: string,
  ) {
    const notModifiedHead = `ETag: ${etag}\r\n${head}`;
    super(200, ownHead + notModifiedHead, payloadOf(body));
    this.notModified = new Prepared(304, notModifiedHead);
  }
}

interface RepresentationOptions {
  readonly lastModified: Date;
  /** Further lines of the head (see `head.ts`) that every encoding carries, such as `Cache-Control`. */
  readonly head: string;
  /** The body's SHA-256 in base64url, where it is known already. */
  readonly sha256?: string;
}

export const JSON_TYPE = 'application/json; charset=utf-8';

export const jsonRepresentation = (data: unknown, options: RepresentationOptions): Representation =>
  new Representation(Buffer.from(JSON.stringify(data)), JSON_TYPE, options);

/** All representations of a snapshot have the same date, which is formatted once. */
const datedLines = remember((lastModified) =>
  linesOf({ 'Last-Modified': new Date(Number(lastModified)).toUTCString(), Vary: 'Accept, Accept-Encoding' }),
);

export class Representation {
  readonly lastModified: number;
  readonly identity: Encoded;
  readonly #contentType: string;
  readonly #digest: string;
  /** The lines that all encodings have in common. */
  readonly #head: string;
  readonly #encodings = new Map<Encoding, Encoded | Promise<Encoded>>();

  constructor(body: Buffer, contentType: string, options: RepresentationOptions) {
    this.#contentType = contentType;
    this.#digest = (options.sha256 ?? hash('sha256', body, 'base64url')).slice(0, 27);
    // HTTP dates have whole seconds.
    this.lastModified = Math.floor(options.lastModified.getTime() / 1000) * 1000;
    this.#head = options.head + datedLines(String(this.lastModified));
    this.identity = this.#encoded(body, 'identity');
  }

  /** Bytes held, all encodings together. */
  get size(): number {
    let size = this.identity.body.length;
    for (const encoded of this.#encodings.values()) if (!(encoded instanceof Promise)) size += encoded.body.length;
    return size;
  }

  /** An encoding is made once, on a thread of its own, when it is first asked for. Small bodies stay as they are. */
  encoding(encoding: Encoding): Encoded | Promise<Encoded> {
    if (encoding === 'identity' || this.identity.body.length < COMPRESSED_FROM_BYTES) return this.identity;
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

  /** Whether the client's copy is current: RFC 9110 13.1.2 and 13.1.3, `If-None-Match` winning. */
  isFresh(ifNoneMatch: string | undefined, ifModifiedSince: string | undefined): boolean {
    if (ifNoneMatch !== undefined) return this.#matches(ifNoneMatch);
    if (ifModifiedSince === undefined) return false;
    const since = Date.parse(ifModifiedSince);
    return !Number.isNaN(since) && this.lastModified <= since;
  }

  #matches(ifNoneMatch: string): boolean {
    if (ifNoneMatch.trim() === '*') return true;
    // The tags of all encodings begin with the same digest, and any of them tells that the content is current.
    return ifNoneMatch.split(',').some((tag) => {
      const opaque = /^\s*(?:W\/)?"([^"]*)"\s*$/.exec(tag)?.[1];
      return (
        opaque !== undefined && (opaque === this.#digest || /^(.*)-(?:br|gzip)$/.exec(opaque)?.[1] === this.#digest)
      );
    });
  }

  #compress(encoding: 'br' | 'gzip'): Promise<Buffer> {
    const { body } = this.identity;
    return encoding === 'gzip'
      ? gzipAsync(body)
      : brotliAsync(body, {
          params: {
            [constants.BROTLI_PARAM_QUALITY]: BROTLI_QUALITY,
            [constants.BROTLI_PARAM_SIZE_HINT]: body.length,
          },
        });
  }

  #encoded(body: Buffer, encoding: Encoding): Encoded {
    const etag = encoding === 'identity' ? `"${this.#digest}"` : `"${this.#digest}-${encoding}"`;
    const coding = encoding === 'identity' ? '' : `Content-Encoding: ${encoding}\r\n`;
    const ownHead = `Content-Type: ${this.#contentType}\r\nContent-Length: ${body.length}\r\n${coding}`;
    return new Encoded(body, encoding, etag, ownHead, this.#head);
  }
}
