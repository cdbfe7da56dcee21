/**
 * A resource's bytes in one format, ready to send, with their validators and compressed encodings; lists have other
 * formats besides JSON.
 */
import { isAscii } from 'node:buffer';
import { hash } from 'node:crypto';
import { promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';
import Negotiator from 'negotiator';
import type { FORMATS } from '../registry/route-defaults.js';
import { memoize } from '../util/lru-map.js';
import { nonFinitePath } from '../validation/json.js';
import { valueAt } from '../validation/path.js';
import { linesOf } from './headers.js';

/** Bytes, or ASCII text. */
export type Payload = Buffer | string;

/**
 * A body up to this size is sent as one string with the header lines, in one system call. It is kept as a string only
 * if it is ASCII, which has one byte a character in any encoding.
 */
export const WRITTEN_AS_TEXT_BYTES = 8 * 1024;

export const payloadOf = (body: Buffer): Payload =>
  body.length <= WRITTEN_AS_TEXT_BYTES && isAscii(body) ? body.toString('latin1') : body;

/** A status with its header lines and body, ready to be sent without further checks. */
export class Prepared {
  /**
   * @param head the header lines that describe the body
   * @param payload undefined where the status has no body
   */
  constructor(
    readonly status: number,
    readonly head: string,
    readonly payload?: Payload,
  ) {}
}

/**
 * Longer `Accept` and `Accept-Encoding` headers are ignored, as RFC 9110 (12.5.1, 12.5.3) permits, since parsing them
 * would cost more than the response; browsers send at most 200 characters.
 */
const LONGEST_JUDGED = 512;

type Encoding = 'br' | 'gzip' | 'identity';

// The published types of negotiator 0.6 do not know the second argument that version 1 takes.
type ChooseEncodings = (available: readonly string[], options: { preferred: readonly string[] }) => string[];

const judgeEncoding = memoize((value): Encoding => {
  const negotiator = new Negotiator({ headers: { 'accept-encoding': value } });
  const encodings = negotiator.encodings.bind(negotiator) as ChooseEncodings;
  const [best] = encodings(['br', 'gzip', 'identity'], { preferred: ['br', 'gzip'] });
  return (best as Encoding | undefined) ?? 'identity';
});

/** The best encoding that the client takes; identity where it takes none, as RFC 9110 12.5.3 permits. */
export const chooseEncoding = (acceptEncoding: string | undefined): Encoding =>
  acceptEncoding === undefined || acceptEncoding.length > LONGEST_JUDGED ? 'identity' : judgeEncoding(acceptEncoding);

/** Judges `Accept` against what an endpoint offers: the best offer, or undefined where all are excluded. */
export const mediaTypeChooser = <Offer extends { readonly mediaType: string }>(offers: readonly Offer[]) => {
  const types = offers.map(({ mediaType }) => mediaType);
  const judge = memoize((value) => {
    const [best] = new Negotiator({ headers: { accept: value } }).mediaTypes(types);
    return offers.find(({ mediaType }) => mediaType === best) ?? null;
  });
  return (accept: string | undefined): Offer | undefined =>
    accept === undefined || accept.length > LONGEST_JUDGED ? offers[0] : (judge(accept) ?? undefined);
};

const gzipAsync = promisify(gzip);
const brotliAsync = promisify(brotliCompress);

/** Smaller bodies gain nothing from compression. */
const COMPRESSED_FROM_BYTES = 1024;
/** Compresses JSON well in a tenth of the time of the default level. */
const BROTLI_QUALITY = 5;

/**
 * A longer `If-None-Match` is ignored: caches send the tags of few copies, and parsing more would cost more than the
 * response that it might save.
 */
const LONGEST_TAGS = 1024;
/** A longer `If-Modified-Since` is ignored; HTTP dates have 29 characters. */
const LONGEST_DATE = 64;

/** One encoding of the body, ready to be sent as a 200. */
export class Encoded extends Prepared {
  /** The response where the client's copy is current. */
  readonly notModified: Prepared;

  constructor(
    readonly body: Buffer,
    readonly encoding: Encoding,
    readonly etag: string,
    /** Header lines of this encoding alone. */
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
  /** Further header lines that every encoding carries, such as `Cache-Control`. */
  readonly head: string;
  /**
   * Whether the format itself is compressed, as Parquet is, so that the body gets no `Content-Encoding`. Default false.
   */
  readonly isCompressed?: boolean;
  /** The body's SHA-256 in base64url, where it is known already. */
  readonly sha256?: string;
}

export const JSON_TYPE = 'application/json; charset=utf-8';

/** A response that a route must not give. Callers see a 500 without the reason, which the log has. */
export class ResponseFault extends Error {
  override readonly name = 'ResponseFault';
}

/**
 * JSON text of a response, or of a part of one.
 * @param at the place of the part, as a JSON Pointer
 * @throws ResponseFault for undefined, or naming the place of a NaN or infinite number, which would become null
 */
export const jsonOf = (response: unknown, at = ''): string => {
  const text = JSON.stringify(response);
  if (text === undefined) throw new ResponseFault(`it is ${String(response)}, which JSON does not have`);
  // JSON.stringify writes null for such a number, so that a text without a null need not be searched.
  if (text.includes('null')) {
    const path = nonFinitePath(response);
    if (path) {
      const place = [at, ...path].join('/') || 'its root';
      throw new ResponseFault(`it has ${valueAt(response, path)} at ${place}, which JSON does not have`);
    }
  }
  return text;
};

export const jsonRepresentation = (data: unknown, options: RepresentationOptions): Representation =>
  new Representation(Buffer.from(jsonOf(data)), JSON_TYPE, options);

/** All representations of a snapshot have the same date, which is formatted once. */
const datedLines = memoize((lastModified) =>
  linesOf({ 'Last-Modified': new Date(Number(lastModified)).toUTCString(), Vary: 'Accept, Accept-Encoding' }),
);

export class Representation {
  readonly lastModified: number;
  readonly identity: Encoded;
  readonly #contentType: string;
  readonly #digest: string;
  readonly #isCompressible: boolean;
  /** The lines that all encodings have in common. */
  readonly #head: string;
  readonly #encodings = new Map<Encoding, Encoded | Promise<Encoded>>();

  constructor(body: Buffer, contentType: string, options: RepresentationOptions) {
    this.#contentType = contentType;
    this.#digest = (options.sha256 ?? hash('sha256', body, 'base64url')).slice(0, 27);
    // HTTP dates have whole seconds.
    this.lastModified = Math.floor(options.lastModified.getTime() / 1000) * 1000;
    this.#head = options.head + datedLines(String(this.lastModified));
    this.#isCompressible = !options.isCompressed && body.length >= COMPRESSED_FROM_BYTES;
    this.identity = this.#encoded(body, 'identity');
  }

  /** Bytes of the bodies of all encodings. */
  get size(): number {
    let size = this.identity.body.length;
    for (const encoded of this.#encodings.values()) if (!(encoded instanceof Promise)) size += encoded.body.length;
    return size;
  }

  /**
   * Compresses once for each encoding, on another thread, when it is first asked for. Small bodies are not compressed.
   */
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

  /** Whether the client's copy is current: RFC 9110 13.1.2 and 13.1.3, `If-None-Match` winning. */
  isFresh(ifNoneMatch: string | undefined, ifModifiedSince: string | undefined): boolean {
    if (ifNoneMatch !== undefined) return this.#matches(ifNoneMatch);
    if (ifModifiedSince === undefined) return false;
    const since = ifModifiedSince.length > LONGEST_DATE ? Number.NaN : Date.parse(ifModifiedSince);
    return !Number.isNaN(since) && this.lastModified <= since;
  }

  #matches(ifNoneMatch: string): boolean {
    if (ifNoneMatch.length > LONGEST_TAGS) return false;
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

export interface Format<Piece extends string | Buffer = string | Buffer> {
  /** As in the query parameter `format`. */
  readonly name: (typeof FORMATS)[number];
  /** The value of `Content-Type`. */
  readonly mediaType: string;
  /** Whether its bytes are compressed already, so that they get no `Content-Encoding`. */
  readonly isCompressed?: boolean;
  /** Writes a whole response. @param columns the properties of the rows to send; default: all that are declared */
  write(data: unknown, columns?: readonly string[]): Piece;
  /** How one list is written piece by piece. */
  list(columns?: readonly string[]): ListWriter<Piece>;
}

/** Writes one list: `before`, then its batches, none of them empty, then `after`. */
export interface ListWriter<Piece extends string | Buffer> {
  readonly before: Piece;
  /** May keep rows back for a later piece. */
  rows(batch: readonly object[]): Piece;
  after(): Piece;
}

/** Makes a text format whose `write` is derived from its `list`; the response must be `{data: [...]}`. */
const textListFormat = (format: Pick<Format<string>, 'name' | 'mediaType' | 'list'>): Format<string> => ({
  ...format,
  write(answer, columns) {
    const { before, rows, after } = format.list(columns);
    return before + rows((answer as { readonly data: readonly object[] }).data) + after();
  },
});

type Row = Readonly<Record<string, unknown>>;

/** The row with these properties alone, in their sequence; what it lacks stays absent. */
const narrowed = (row: object, columns: readonly string[] | undefined): object => {
  if (!columns) return row;
  const kept: Record<string, unknown> = {};
  for (const name of columns) if (Object.hasOwn(row, name)) kept[name] = (row as Row)[name];
  return kept;
};

const jsonRows = textListFormat({
  name: 'json',
  mediaType: JSON_TYPE,
  list(columns) {
    let between = '';
    return {
      before: '{"data":[',
      rows(batch) {
        const text = between + jsonOf(columns ? batch.map((row) => narrowed(row, columns)) : batch).slice(1, -1);
        between = ',';
        return text;
      },
      after: () => ']}',
    };
  },
});

export const jsonFormat: Format<string> = {
  name: 'json',
  mediaType: JSON_TYPE,
  write: (answer, columns) => (columns ? jsonRows.write(answer, columns) : jsonOf(answer)),
  list: jsonRows.list,
};

/** Lists as JSON, a row a line. */
export const ndjsonFormat: Format<string> = textListFormat({
  name: 'ndjson',
  mediaType: 'application/x-ndjson; charset=utf-8',
  list: (columns) => ({
    before: '',
    rows: (batch) => batch.reduce((text: string, row) => `${text}${jsonOf(narrowed(row, columns))}\n`, ''),
    after: () => '',
  }),
});

/**
 * Texts that spreadsheets would run as a formula: OWASP's list of first characters, with their full-width forms. Texts
 * with apostrophes before such a character match too, so that removing one apostrophe always restores the original.
 */
const FORMULA = /^'*[=+\-@\t\r\n＝＋－＠]/u;

/**
 * Lists as CSV, by RFC 4180: a header, one record a row, each ended by CRLF, the columns being the properties that
 * the route's schema declares, in its sequence. Absent values and null are empty fields, an empty text is `""`;
 * numbers and booleans are printed as in JSON; objects and arrays are one cell of JSON.
 * @param formulaGuard puts an apostrophe before texts that a spreadsheet would run; numbers are never touched
 */
export const csvFormat = (columns: readonly string[], formulaGuard: boolean): Format<string> => {
  const text = (value: string): string => quote(formulaGuard && FORMULA.test(value) ? `'${value}` : value);
  const cell = (column: string, value: unknown): string => {
    if (typeof value === 'string') return text(value);
    const json = value === undefined ? undefined : jsonOf(value, `/${column}`);
    if (json === undefined || json === 'null') return '';
    // Dates and their like are texts in JSON.
    return json.startsWith('"') ? text(JSON.parse(json) as string) : quote(json);
  };
  // Many readers skip empty lines, so a record of one empty field is written as `""`.
  const record = (cells: readonly string[]): string => `${cells.join(',') || '""'}\r\n`;
  return textListFormat({
    name: 'csv',
    mediaType: 'text/csv; charset=utf-8; header=present',
    list(chosen = columns) {
      const recordOf = (row: Row): string =>
        record(chosen.map((column) => cell(column, Object.hasOwn(row, column) ? row[column] : undefined)));
      return {
        before: record(chosen.map(text)),
        rows: (batch) => batch.reduce((text: string, row) => text + recordOf(row as Row), ''),
        after: () => '',
      };
    },
  });
};

const quote = (value: string): string =>
  value === '' || /[",\r\n]/.test(value) ? `"${value.replaceAll('"', '""')}"` : value;
