/** A form that answers are written in. JSON is every route's first. */
import { JSON_TYPE } from './representation.js';

export interface Form {
  /** As in the query parameter `format`. */
  readonly name: 'json' | 'csv';
  /** The value of `Content-Type`. */
  readonly mediaType: string;
  /** An answer as a whole. */
  write(data: unknown): string;
  /** A list piece by piece: `before`, then its batches, none of them empty, with `between` among them, then `after`. */
  readonly list: {
    readonly before: string;
    readonly between: string;
    readonly after: string;
    rows(batch: readonly object[]): string;
  };
}

export const jsonForm: Form = {
  name: 'json',
  mediaType: JSON_TYPE,
  write: (data) => JSON.stringify(data),
  list: { before: '{"data":[', between: ',', after: ']}', rows: (batch) => JSON.stringify(batch).slice(1, -1) },
};
