/** A response body as bytes, with its validators and its compressed forms. */
import { isAscii } from 'node:buffer';
import { hash } from 'node:crypto';
import { promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';
import { remember } from '../remember.js';
import { linesOf } from './head.js';
import type { Encoding } from './negotiation.js';

const gzipAsync = promisify(gzip);
const brotliAsync = promisify(brotliCompress);

/** Smaller bodies gain nothing from compression. */
const COMPRESSED_FROM_BYTES = 1024;
/**
 * Node writes a text together with the head, in one system call and one copy; a buffer goes beside it, which pays
 * from a few KiB on. Texts must be ASCII: one byte a character, whatever the encoding.
 */
const WRITTEN_AS_TEXT_BYTES = 8 * 1024;
/** Good for JSON at a tenth of the default level's time. */
const BROTLI_QUALITY = 5;

/** Bytes, or ASCII text. */
export type Payload = Buffer | string;

export const payloadOf = (body: Buffer): Payload =>
  body.length <= WRITTEN_AS_TEXT_BYTES && isAscii(body) ? body.toString('latin1') : body;

/** One encoding of a body, with the header pairs that belong to it. */
export interface Encoded {
  readonly body: Buffer;
  /** What is written: see `WRITTEN_AS_TEXT_BYTES`. */
  readonly payload: Payload;
  readonly etag: string;
  /** Its lines (see `head.ts`), complete but for what differs per request. */
  readonly head: string;
  /** The same for a 304. */
  readonly notModifiedHead: string;
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

/** All answers of a snapshot have the same date: it is put into words once. */
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
  readonly #forms = new Map<Encoding, Encoded | Promise<Encoded>>();

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
    for (const form of this.#forms.values()) if (!(form instanceof Promise)) size += form.body.length;
    return size;
  }

  /** A compressed form is made once, on a thread of its own, when it is first asked for. */
  encoding(encoding: Encoding): Encoded | Promise<Encoded> {
    if (encoding === 'identity' || this.identity.body.length < COMPRESSED_FROM_BYTES) return this.identity;
    const known = this.#forms.get(encoding);
    if (known) return known;
    const form = this.#compress(encoding).then((body) => {
      const encoded = this.#encoded(body, encoding);
      this.#forms.set(encoding, encoded);
      return encoded;
    });
    this.#forms.set(encoding, form);
    form.catch(() => this.#forms.delete(encoding));
    return form;
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
    const notModifiedHead = `ETag: ${etag}\r\n${this.#head}`;
    const coding = encoding === 'identity' ? '' : `Content-Encoding: ${encoding}\r\n`;
    const head = `Content-Type: ${this.#contentType}\r\nContent-Length: ${body.length}\r\n${coding}${notModifiedHead}`;
    return { body, payload: payloadOf(body), etag, head, notModifiedHead };
  }
}
