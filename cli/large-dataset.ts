/** When to serve a dataset from SQLite instead of memory. */
import { count } from './output.js';

/**
 * Measured with ten columns: `json` needs 0.4 s of processor time and 28 MB for each 100,000 rows; `sqlite` needs
 * neither.
 */
const LARGE = 500_000;

/** Advice for a dataset with this many rows in the adapter "json". Undefined for smaller ones. */
export const sqliteAdvice = (rows: number): string | undefined =>
  rows < LARGE
    ? undefined
    : `The adapter "json" loads ${count.format(rows)} rows into the memory of each worker. The adapter "sqlite" reads them from one file: docs/guides/sqlite.md`;
