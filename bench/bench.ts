/** What the parts of a run share: its settings, its keys, its data and its Redis. */
import { execFileSync } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createKey } from '../core/keys/key.js';
import { metroService } from '../plugins/metro/service.js';
import { type Server, startRedis } from '../test/support/services.js';
import { marketCodes, writeDataset } from './dataset.js';
import { bindToCore, LOAD_CORE } from './pinned-process.js';
import type { Settings } from './settings.js';

/** So high that no turn is refused; the limiter does all its work nevertheless. */
export const HUGE_LIMIT = 100_000_000;
/** Requests a minute of a usual key: the service's default. */
export const USUAL_LIMIT = 600;
/** At 600 a minute each, for 50,000 requests/s. */
const USUAL_KEYS = 5000;

export interface Bench {
  readonly settings: Settings;
  /** Temporary; gone when the run has ended. */
  readonly folder: string;
  readonly dataset: string;
  /** The market that is asked for. */
  readonly cbsa: string;
  /** Of a limit that nobody has, `HUGE_LIMIT`. */
  readonly key: string;
  /** May ask once a minute. */
  readonly refusedKey: string;
  /** Of the usual limit, and so many that together they are never refused. */
  readonly usualKeys: readonly string[];
  /** The URL of a Redis. */
  readonly redis: string;
  say(line: string): void;
}

/**
 * Binds a Redis or MongoDB to the core that has the load, and gives it real-time priority there, as if it had a core of
 * its own: a load generator that never sleeps would otherwise keep it waiting for whole time slices, and those waits
 * would count as the server's. Only root may give the priority.
 */
export const toLoadCore = (pid: number): void => {
  bindToCore(LOAD_CORE, pid);
  try {
    execFileSync('chrt', ['--all-tasks', '--fifo', '--pid', '1', String(pid)], { stdio: 'ignore' });
  } catch {
    process.stderr.write(
      'Without root, Redis and MongoDB wait for the load generator: high percentiles are too high.\n',
    );
  }
};

/** A Redis on the core of the load. */
export const startBenchRedis = async (): Promise<Server> => {
  const redis = await startRedis();
  toLoadCore(redis.pid);
  return redis;
};

/** As versions before this one know them too. */
const makeKey = (): string => createKey(undefined, metroService.keyPrefix!).key;

export const makeKeys = (count: number): string[] => Array.from({ length: count }, makeKey);

export const withBench = async <T>(settings: Settings, use: (bench: Bench) => Promise<T>): Promise<T> => {
  const folder = await mkdtemp(join(tmpdir(), 'metro-forecast-bench-'));
  const redis = await startBenchRedis();
  try {
    const dataset = join(folder, 'dataset-1');
    await writeDataset(dataset, 1);
    return await use({
      settings,
      folder,
      dataset,
      cbsa: marketCodes(1)[200]!,
      key: makeKey(),
      refusedKey: makeKey(),
      usualKeys: makeKeys(USUAL_KEYS),
      redis: redis.url,
      say: (line) => void process.stderr.write(`${line}\n`),
    });
  } finally {
    await redis.stop();
    await rm(folder, { recursive: true, force: true });
  }
};
