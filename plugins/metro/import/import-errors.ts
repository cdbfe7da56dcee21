/** Collects the errors in imported files. All of them are counted, but only the first ones are listed. */
import { OperatorError } from 'metro-forecast-api/plugin';

/** The maximum number of errors that are listed. */
const LISTED = 50;

export class ImportErrors {
  readonly #rows: string[] = [];
  readonly #files: string[] = [];
  #count = 0;

  /** The number of bad rows. */
  get rows(): number {
    return this.#count;
  }

  /** Adds a row that cannot be used. */
  addRow(file: string, line: number, rule: string): void {
    if (this.#count++ < LISTED) this.#rows.push(`${file}:${line}: ${rule}`);
  }

  /** Adds a file that cannot be used. Such a file always stops the import. */
  addFile(file: string, rule: string): void {
    this.#files.push(`${file}: ${rule}`);
  }

  /** Returns the first bad rows as `file:line: rule`, and the number of further bad rows. */
  listRows(): string[] {
    const left = this.#count - this.#rows.length;
    return left === 0 ? [...this.#rows] : [...this.#rows, `and ${left} more bad rows`];
  }

  /** @throws OperatorError if a file cannot be used, or if a row cannot be used and `skipRows` is false */
  throwIfAny(skipRows: boolean): void {
    const rows = skipRows ? [] : this.listRows();
    if (this.#files.length + rows.length === 0) return;
    const advice = rows.length === 0 ? '' : ' Correct the files, or leave bad rows out with --skip-bad-rows.';
    throw new OperatorError(`Nothing was imported.${advice}`, [...this.#files, ...rows]);
  }
}
