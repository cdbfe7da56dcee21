/** A form that answers are written in. JSON is every route's first. */
import { JSON_TYPE } from './representation.js';

export interface Form {
  /** As in the query parameter `format`. */
  readonly name: 'json' | 'csv';
  /** The value of `Content-Type`. */
  readonly mediaType: string;
  write(data: unknown): string;
}

export const jsonForm: Form = { name: 'json', mediaType: JSON_TYPE, write: (data) => JSON.stringify(data) };
