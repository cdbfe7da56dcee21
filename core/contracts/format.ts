/** The contract of response formats. Lists of rows are available in every format, and other responses only as JSON. */

/** A column of a list. The type `json` means that values have several types, or a type that is not listed here. */
export interface Column {
  readonly name: string;
  readonly type: 'string' | 'date' | 'date-time' | 'integer' | 'number' | 'boolean' | 'json';
  /** Whether the value may be absent or null. */
  readonly optional: boolean;
}

export type Row = Readonly<Record<string, unknown>>;

export interface Format {
  /** The value of the query parameter `format`. */
  readonly name: string;
  /** The value of `Content-Type`, followed by other media types with which clients can request the format. */
  readonly mediaTypes: readonly string[];
  /** Describes the format in the OpenAPI document. */
  readonly description: string;
  /** Whether the format itself is compressed, so that responses need no `Content-Encoding`. */
  readonly isCompressed?: boolean;
  /**
   * Writes a list. Large lists are sent while they are being written, so write each batch before you read the next one.
   * Equal rows should give equal bytes, so that all replicas send the same ETag.
   * @param rows batches of rows, none of which is empty; `textOf(batch)` returns the text of rows that are stored as JSON
   * @param columns the columns of the response, in order; rows can have additional properties
   */
  write(rows: AsyncIterable<readonly Row[]>, columns: readonly Column[]): AsyncIterable<string | Uint8Array>;
}
