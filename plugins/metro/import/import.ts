import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { MANIFEST_FILE, openDirectory, StorageError, writeDirectory } from 'metro-forecast-api/adapter';
import { type Cadence, type Document, OperatorError } from 'metro-forecast-api/plugin';
import { METRO_HPI } from '../collections.js';
import { isDay, lookAhead, quarterOf, quarterStart } from '../periods.js';
import { indexReleaseOf, releaseOf } from '../release-calendar.js';
import type { Rows } from '../rows.js';
import { ImportErrors } from './import-errors.js';
import { findInputs } from './input.js';
import { type Merged, merge, type OldDataset } from './merge.js';
import { type Imported, type OnRead, readInputs } from './read.js';

export interface ImportOptions {
  readonly sources: readonly string[];
  readonly to: string;
  /** Day on which the data was available, `YYYY-MM-DD`. Default: derived from the newest data. */
  readonly vintage?: string | undefined;
  readonly skipBadRows?: boolean | undefined;
  readonly time?: Date | undefined;
  /** Creation time of the dataset. Must not be before the data was available. Default: `time`. */
  readonly created?: Date | undefined;
  readonly onRead?: OnRead | undefined;
  readonly onWrite?: ((progress: { collection: string; written: number }) => void) | undefined;
}

export interface ImportReport {
  readonly directory: string;
  readonly version: string;
  readonly vintage: string;
  readonly index: { readonly markets: number; readonly values: number } | null;
  readonly series: readonly { readonly series_id: string; readonly cadence: Cadence; readonly values: number }[];
  /** Number of dropped rows. `faults` lists the first 50. */
  readonly badRows: number;
  readonly faults: readonly string[];
  readonly ignored: readonly string[];
  readonly dropped: {
    readonly markets: readonly string[];
    readonly rows: Readonly<Record<string, number>>;
  };
}

const openOld = async (directory: string): Promise<OldDataset | undefined> => {
  if (!existsSync(join(directory, MANIFEST_FILE))) return undefined;
  try {
    const { dataset, manifest } = await openDirectory(directory);
    if (!manifest.synthetic) return { dataset, collections: Object.keys(manifest.collections) };
  } catch (error) {
    if (!(error instanceof StorageError)) throw error;
    throw new OperatorError(
      `${directory} contains a dataset that cannot be read. Repair it, or import into another directory.`,
      [error.message],
      { cause: error },
    );
  }
  throw new OperatorError(
    `${directory} contains made-up numbers, which cannot be mixed with real data. Import into another directory.`,
  );
};

/**
 * Returns the day of `created`. Without `created`, returns the release day of the newest data, or the current day if
 * that is earlier. If the existing index is kept, the result is never earlier than the existing vintage.
 */
const defaultVintage = (
  { sources }: Merged,
  { index }: Imported,
  old: OldDataset | undefined,
  { time, created }: { readonly time: Date; readonly created: Date | undefined },
): string => {
  const today = (created ?? time).toISOString().slice(0, 10);
  const released = sources.flatMap(({ id, latest_period, cadence }) => {
    if (latest_period === null) return [];
    return id === METRO_HPI ? indexReleaseOf(quarterOf(latest_period)) : releaseOf(latest_period, cadence);
  });
  const newest = created === undefined ? released.toSorted().at(-1) : undefined;
  const day = newest !== undefined && newest < today ? newest : today;
  const kept = index === undefined ? old?.dataset.manifest.vintage : undefined;
  return kept !== undefined && kept > day ? kept : day;
};

/** A value cannot be known before the end of its period, so periods that end after `created` are rejected. */
const checkLookAhead = ({ index = [], macro }: Imported, { sources }: Merged, created: string): void => {
  const errors: string[] = [];
  const check = (id: string, days: readonly string[], cadence: Cadence): void => {
    for (const day of days) {
      const rule = lookAhead(day, cadence, created);
      if (rule === undefined) continue;
      errors.push(`${id}: the period from ${day} ${rule}`);
      return;
    }
  };
  check(
    METRO_HPI,
    [...new Set(index.flatMap(({ quarters }) => quarters))].sort((a, b) => a - b).map(quarterStart),
    'quarterly',
  );
  for (const { id, days, cadence } of macro) check(id, days, cadence);
  const imported = new Set([METRO_HPI, ...macro.map(({ id }) => id)]);
  for (const { id, latest_period, cadence } of sources) {
    if (!imported.has(id) && latest_period !== null)
      check(`${id}, which is already in the dataset`, [latest_period], cadence);
  }
  if (errors.length > 0)
    throw new OperatorError(
      'Nothing was imported, because the data is newer than the time in --created. Set --created to a time at which all data was known, or import older files.',
      errors,
    );
};

async function* counted(rows: Rows, onRows: (written: number) => void): AsyncGenerator<Document[]> {
  let written = 0;
  for await (const batch of rows) {
    yield batch as Document[];
    written += batch.length;
    onRows(written);
  }
}

const sum = (lists: readonly { readonly values: readonly number[] }[]): number =>
  lists.reduce((total, { values }) => total + values.length, 0);

/**
 * Imports files into a dataset directory. All files are checked before anything is written. The old version remains if
 * an error occurs.
 * @throws OperatorError if a source cannot be read, has an unknown format, or repeats data from another source; if
 *   there are bad rows and `skipBadRows` is not set; or if the directory contains synthetic or unreadable data
 */
export const importInto = async (options: ImportOptions): Promise<ImportReport> => {
  const { to, vintage: given, skipBadRows = false, time = new Date() } = options;
  const created = (options.created ?? time).toISOString();
  if (given !== undefined && !isDay(given))
    throw new OperatorError(`The vintage must be a valid day like 2025-12-31, but is "${given}".`);
  const inputs = await findInputs(options.sources);
  const old = await openOld(to);

  const errors = new ImportErrors();
  const imported = await readInputs(inputs, errors, options.onRead);
  errors.throwIfAny(skipBadRows);

  const merged = await merge(old, imported, created);
  checkLookAhead(imported, merged, created);
  const vintage = given ?? defaultVintage(merged, imported, old, { time, created: options.created });
  const manifest = { format: 1, created, vintage, synthetic: false, sources: merged.sources } as const;
  const written = [...merged.collections].map(
    ([name, rows]) =>
      [name, counted(rows, (count) => options.onWrite?.({ collection: name, written: count }))] as const,
  );
  const { version } = await writeDirectory(to, manifest, Object.fromEntries(written));

  return {
    directory: to,
    version,
    vintage,
    index: imported.index ? { markets: imported.index.length, values: sum(imported.index) } : null,
    series: imported.macro.map(({ id, cadence, values }) => ({ series_id: id, cadence, values: values.length })),
    badRows: errors.rows,
    faults: errors.listRows(),
    ignored: imported.ignored,
    dropped: { markets: merged.droppedMarkets, rows: merged.droppedRows },
  };
};
