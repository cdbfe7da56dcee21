import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { KeyRecord } from '../core/contracts/keys.js';
import { newKey } from '../test/support/key-record.js';
import { marketCodes, seriesIds, writeDataset } from './dataset.js';
import { HUGE_LIMIT } from './service.js';

export interface Settings {
  readonly mode: 'full' | 'quick';
  /** If true, the section `rows` also measures 10 million rows. */
  readonly large?: boolean;
  /** Number of measurements per contender. The tables show medians. */
  readonly rounds: number;
  readonly seconds: number;
}

export const FULL: Settings = { mode: 'full', rounds: 9, seconds: 2 };

/** A quick run only shows that everything works. One second is too short for useful figures. */
export const QUICK: Settings = { mode: 'quick', rounds: 1, seconds: 1 };

export const USUAL_LIMIT = 600;
export const FEW_KEYS = 5000;
export const MANY_KEYS = 50_000;

export const catalogue = { cbsas: marketCodes(), series: seriesIds() };

export interface Bench {
  readonly settings: Settings;
  /** Folder of another checkout to compare with this one. The other checkout must be built. */
  readonly against: string | undefined;
  readonly folder: string;
  readonly dataset: string;
  readonly hugeKey: string;
  /** 5,000 keys with the default limit allow 50,000 requests per second. */
  readonly fewKeys: readonly string[];
  readonly manyKeys: readonly string[];
  readonly records: readonly KeyRecord[];
  readonly limits: string;
}

export const say = (line: string): void => void process.stderr.write(`${line}\n`);

export const withBench = async (
  settings: Settings,
  against: string | undefined,
  use: (bench: Bench) => Promise<void>,
): Promise<void> => {
  const folder = await mkdtemp(join(tmpdir(), 'metro-forecast-bench-'));
  try {
    const dataset = join(folder, 'dataset');
    await writeDataset(dataset);
    const made = Array.from({ length: 1 + FEW_KEYS + MANY_KEYS }, (_, i) =>
      newKey({ id: `bench-${i}`, limit_per_minute: i === 0 ? HUGE_LIMIT : USUAL_LIMIT }),
    );
    const [hugeKey = '', ...keys] = made.map(({ key }) => key);
    const records = made.map(({ record }) => record);
    const limits = join(folder, 'limits.json');
    const entries = records.map(({ hash, limit_per_minute }) => [hash, limit_per_minute]);
    await writeFile(limits, JSON.stringify(Object.fromEntries(entries)));
    const [fewKeys, manyKeys] = [keys.slice(0, FEW_KEYS), keys.slice(FEW_KEYS)];
    await use({ settings, against, folder, dataset, hugeKey, fewKeys, manyKeys, records, limits });
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
};
