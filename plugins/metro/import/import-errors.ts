/** Collects errors in imported files. All bad rows are counted, but only the first 50 are listed. */
import { OperatorError } from 'metro-forecast-api/plugin';

const MAX_LISTED = 50;

export class ImportErrors {
  readonly #rows: string[] = [];
  readonly #files: string[] = [];
  #count = 0;

  get rows(): number {
    return this.#count;
  }

  addRow(file: string, line: number, rule: string): void {
    if (this.#count++ < MAX_LISTED) this.#rows.push(`${file}:${line}: ${rule}`);
  }

  /** A file that cannot be used always stops the import, even if bad rows are skipped. */
  addFile(file: string, rule: string): void {
    this.#files.push(`${file}: ${rule}`);
  }

  listRows(): string[] {
    const left = this.#count - this.#rows.length;
    return left === 0 ? [...this.#rows] : [...this.#rows, `and ${left} more bad rows`];
  }

  /** @throws OperatorError if a file cannot be used, or if a row cannot be used and `skipRows` is false */
  throwIfAny(skipRows: boolean): void {
    const rows = skipRows ? [] : this.listRows();
    if (this.#files.length + rows.length === 0) return;
    const advice = rows.length === 0 ? '' : ' Correct the files, or use --skip-bad-rows to leave bad rows out.';
    throw new OperatorError(`Nothing was imported.${advice}`, [...this.#files, ...rows]);
  }
}
