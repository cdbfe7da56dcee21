/**
 * The contract for response formats such as CSV. Lists are available in every format. Other responses are always JSON.
 */

/** A column of a list. Columns with mixed types, lists or objects have the type `json`. */
export interface Column {
  readonly name: string;
  readonly type: 'string' | 'date' | 'date-time' | 'integer' | 'number' | 'boolean' | 'json';
  /** True if values of the column can be missing or null. */
  readonly optional: boolean;
}

export type Row = Readonly<Record<string, unknown>>;

export interface Format {
  /** The name of the format, such as `csv`, which callers pass in the query parameter `format`. */
  readonly name: string;
  /** The media types that select this format in an `Accept` header. The first is the `Content-Type` of responses. */
  readonly mediaTypes: readonly string[];
  readonly description: string;
  /** True if the format is already compressed. Responses then have no `Content-Encoding`. */
  readonly isCompressed?: boolean;
  /**
   * Writes a list as text or bytes. Large lists are sent while they are being written, so write each batch before you
   * read the next one. The same rows must always produce the same bytes, because all replicas must send the same ETag.
   * @param rows non-empty batches of rows. `textOf(batch)` returns their JSON text if the store keeps rows as JSON
   * @param columns the columns to write, in this order. Rows can have additional properties
   */
  write(rows: AsyncIterable<readonly Row[]>, columns: readonly Column[]): AsyncIterable<string | Uint8Array>;
}
