/** The contract for response formats. Lists are available in every format; other responses are always JSON. */

/** A column of a list. Use the type `json` for mixed types, or for a type that is not listed here. */
export interface Column {
  readonly name: string;
  readonly type: 'string' | 'date' | 'date-time' | 'integer' | 'number' | 'boolean' | 'json';
  /** Whether values can be absent or null. */
  readonly optional: boolean;
}

export type Row = Readonly<Record<string, unknown>>;

export interface Format {
  /** The value of the query parameter `format`. */
  readonly name: string;
  /** The `Content-Type` value, followed by any other media types that clients can use to request the format. */
  readonly mediaTypes: readonly string[];
  readonly description: string;
  /** Whether the format is already compressed, so that responses need no `Content-Encoding`. */
  readonly isCompressed?: boolean;
  /**
   * Writes a list. Large lists are sent while they are being written, so write each batch before reading the next.
   * Equal rows should produce identical bytes, so that all replicas send the same ETag.
   * @param rows non-empty batches of rows; `textOf(batch)` returns the JSON text of rows that are stored as JSON
   * @param columns the columns to write, in order; rows can have additional properties
   */
  write(rows: AsyncIterable<readonly Row[]>, columns: readonly Column[]): AsyncIterable<string | Uint8Array>;
}
