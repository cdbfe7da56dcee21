/** Errors of imported files. All are counted, and the first ones are listed. */
import { OperatorError } from 'metro-forecast-api/plugin';

/** Number of errors that are listed. */
const LISTED = 50;

export class ImportErrors {
  readonly #rows: string[] = [];
  readonly #files: string[] = [];
  #count = 0;

  /** Number of bad rows. */
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

  /** The first bad rows as `file:line: rule`, and the number of the others. */
  listRows(): string[] {
    const left = this.#count - this.#rows.length;
    return left === 0 ? [...this.#rows] : [...this.#rows, `and ${left} more bad rows`];
  }

  /** @throws OperatorError if a file cannot be used, or a row cannot and `skipRows` is not set */
  throwIfAny(skipRows: boolean): void {
    const rows = skipRows ? [] : this.listRows();
    if (this.#files.length + rows.length === 0) return;
    const advice = rows.length === 0 ? '' : ' Correct the files, or leave bad rows out with --skip-bad-rows.';
    throw new OperatorError(`Nothing was imported.${advice}`, [...this.#files, ...rows]);
  }
}
