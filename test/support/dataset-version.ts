import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Document, Manifest } from '../../core/contracts/dataset.js';
import { writeDirectory } from '../../core/data/write-directory.js';
import * as fixture from './fixture.js';

interface DatasetVersion {
  readonly manifest: Manifest;
  readonly collections: Readonly<Record<string, readonly Document[]>>;
}

/**
 * Returns a version whose response bodies differ from all other versions. Names contain `number`, and values are
 * increased by `number`.
 */
export const datasetVersion = (number: number): DatasetVersion => {
  const shift = (value: unknown) => (typeof value === 'number' ? value + number : value);
  const shifted: Record<string, (row: Record<string, unknown>) => Record<string, unknown>> = {
    markets: (row) => ({ ...row, name: `${row['name']} ${number}` }),
    hpi: (row) => ({ ...row, value: shift(row['value']) }),
    observations: (row) => ({ ...row, value: shift(row['value']) }),
    series: (row) => ({ ...row, title: `${row['title']} ${number}` }),
    forecast_runs: (row) => ({ ...row, notes: `${number}` }),
    forecasts: (row) => ({ ...row, model_version: `test-${number}`, realized: shift(row['realized']) }),
    backtests: (row) => ({ ...row, model_version: `test-${number}` }),
  };
  return {
    manifest: {
      ...fixture.manifest,
      version: `version-${number}`,
      created: new Date(Date.parse(fixture.manifest.created) + number * 1000).toISOString(),
    },
    collections: Object.fromEntries(
      Object.entries(fixture.documents).map(([name, rows]) => [
        name,
        rows.map((row) => shifted[name]?.(row as Record<string, unknown>) ?? row),
      ]),
    ) as DatasetVersion['collections'],
  };
};

export const writeVersion = async (folder: string, { manifest, collections }: DatasetVersion): Promise<string> => {
  const directory = join(folder, manifest.version);
  const batches = Object.entries(collections).map(([name, rows]) => [name, [rows]] as const);
  await writeDirectory(directory, manifest, Object.fromEntries(batches));
  return directory;
};

export const writeVersions = async (
  numbers: readonly number[],
): Promise<{ readonly directories: readonly string[]; remove(): Promise<void> }> => {
  const folder = await mkdtemp(join(tmpdir(), 'metro-forecast-versions-'));
  const directories: string[] = [];
  for (const number of numbers) directories.push(await writeVersion(folder, datasetVersion(number)));
  return { directories, remove: () => rm(folder, { recursive: true, force: true }) };
};
