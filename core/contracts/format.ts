/** The contract for response formats. Lists are available in every format. Other responses are always JSON. */

/** A column of a list. The type `json` is for mixed types, and for types that are not listed here. */
export interface Column {
  readonly name: string;
  readonly type: 'string' | 'date' | 'date-time' | 'integer' | 'number' | 'boolean' | 'json';
  /** True if values can be missing or null. */
  readonly optional: boolean;
}

export type Row = Readonly<Record<string, unknown>>;

export interface Format {
  /** The value of the query parameter `format`. */
  readonly name: string;
  /** The first item is the `Content-Type` of responses. Clients can request the format by any of the items. */
  readonly mediaTypes: readonly string[];
  readonly description: string;
  /** True if the format is already compressed. Responses then have no `Content-Encoding`. */
  readonly isCompressed?: boolean;
  /**
   * Writes a list as text or bytes. A large list is sent while it is being written, so write each batch before you read
   * the next one. Equal rows must result in equal bytes, because all replicas must send the same ETag.
   * @param rows non-empty batches of rows. If rows are stored as JSON, `textOf(batch)` returns their text
   * @param columns the columns to write, in this order. Rows can have additional properties
   */
  write(rows: AsyncIterable<readonly Row[]>, columns: readonly Column[]): AsyncIterable<string | Uint8Array>;
}
