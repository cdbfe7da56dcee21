/** Documents by their position, wherever they are kept. An array is such a list. */
import type { Document } from '../contracts/dataset.js';

export interface DocumentList {
  readonly length: number;
  at(position: number): Document | undefined;
  /** Those from `start` to before `end`. */
  slice(start: number, end: number): readonly Document[];
}
