/** The errors of imported files: all are counted, and the first ones are shown. */
import { OperatorError } from 'metro-forecast-api/plugin';

/** How many errors are listed. More say little that these do not. */
const LISTED = 50;

export class ImportErrors {
  readonly #rows: string[] = [];
  readonly #files: string[] = [];
  #count = 0;

  /** How many rows are bad. */
  get rows(): number {
    return this.#count;
  }

  /** A row that cannot be used. */
  addRow(file: string, line: number, rule: string): void {
    if (this.#count++ < LISTED) this.#rows.push(`${file}:${line}: ${rule}`);
  }

  /** A whole file that cannot be used: this is never passed over. */
  addFile(file: string, rule: string): void {
    this.#files.push(`${file}: ${rule}`);
  }

  /** The bad rows as `file:line: rule`, and a last line that counts those left out. */
  listRows(): string[] {
    const left = this.#count - this.#rows.length;
    return left === 0 ? [...this.#rows] : [...this.#rows, `and ${left} more bad rows`];
  }

  /** @throws OperatorError when a file is of no use, or a row is and `skipRows` is not set */
  throwIfAny(skipRows: boolean): void {
    const rows = skipRows ? [] : this.listRows();
    if (this.#files.length + rows.length === 0) return;
    const advice = rows.length === 0 ? '' : ' Correct the files, or leave bad rows out with --skip-bad-rows.';
    throw new OperatorError(`Nothing was imported.${advice}`, [...this.#files, ...rows]);
  }
}
