import type { MissingMarkers } from './missing-markers.js';
import type { ColumnType, NotationName } from './notations.js';

export interface GuessOptions {
  readonly type?: ColumnType | undefined;
  /** True if the file format has types, as JSON does. If true, strings are text unless they are dates. */
  readonly isTyped: boolean;
  readonly decimal?: 'point' | 'comma' | undefined;
  /**
   * True if commas separate cells. If true, a comma inside a number is more likely a thousands separator than a decimal
   * comma.
   */
  readonly isCommaSeparated?: boolean;
  readonly dateOrder?: 'dmy' | 'mdy' | undefined;
  /** Cell contents that count as missing values, even in text columns. */
  readonly missing: MissingMarkers;
  readonly isRequired?: boolean;
  /** True if the first cell of the column is text, and only the type of the cells below it is guessed. */
  readonly isBelow?: boolean;
  /** True if `type` is from an earlier import. If true, values that would lose digits are not allowed. */
  readonly isDeclared?: boolean;
}

export interface GuessedType {
  readonly type: ColumnType;
  readonly notation: NotationName;
  readonly note?: string;
  readonly unit?: string;
  readonly error?: string;
}
