/** One soak: load on a server during publications, with samples of its memory and handles. */
import { cp, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { openDirectory } from '../../core/data/directory.js';
import { packageRoot } from '../../core/util/package.js';
import { newKey } from '../../test/support/key-record.js';
import { startMongo, startRedis } from '../../test/support/services.js';
import { json } from '../service.js';
import { Load, type Tally } from './load.js';
import type { Holdings } from './probe.js';
import { Publisher } from './publisher.js';
import { manyAddresses, requestMix } from './requests.js';
import { type SoakedServer, startSoakedServer, writeSoakConfig } from './server.js';

export const ADAPTERS = ['json', 'mongo'] as const;
export type AdapterName = (typeof ADAPTERS)[number];

export interface SoakOptions {
  readonly seconds: number;
  readonly clients: number;
  /** Seconds between publications. */
  readonly publishEvery: number;
  readonly seed: string;
}

export interface SoakSample extends Omit<Holdings, 'warnings'> {
  /** Seconds since the load started. */
  readonly at: number;
  readonly requests: number;
  readonly published: number;
  /** Bytes of cached responses. */
  readonly cache: number;
}

export interface SoakResult {
  readonly adapter: AdapterName;
  readonly samples: readonly SoakSample[];
  readonly tally: Tally;
  readonly warnings: readonly string[];
}

const SAMPLES = 120;
const SHORTEST_INTERVAL = 2;
/** High enough that no request is rejected. The limiter still counts all of them. */
const NEVER_REFUSED = 100_000_000;
const SMALL_LIMIT = 60;
/** All connections are opened at the start, since later ones would look like leaking handles. */
const POOL = { poolMin: 20, poolMax: 20 };
/** Requests before the first sample, enough to fill the memo of URLs. */
const FILLING = 30_000;

const codesOf = async (directory: string, collection: string, field: string): Promise<string[]> => {
  const codes: string[] = [];
  const { dataset } = await openDirectory(directory);
  for await (const rows of dataset.read(collection)) codes.push(...rows.map((row) => String(row[field])));
  return codes;
};

interface Parts {
  readonly server: SoakedServer;
  readonly load: Load;
  readonly publisher: Publisher;
}

/** Samples the server at regular intervals, while the load is paused: requests in flight would count as memory. */
const sampleAll = async (
  { server, load, publisher }: Parts,
  seconds: number,
  say: (sample: SoakSample) => void,
): Promise<Pick<SoakResult, 'samples' | 'warnings'>> => {
  const since = performance.now();
  const interval = Math.max(SHORTEST_INTERVAL, seconds / SAMPLES);
  const samples: SoakSample[] = [];
  let warnings: readonly string[] = [];
  for (let next = interval; next <= seconds; next += interval) {
    await delay(Math.max(0, since + next * 1000 - performance.now()));
    await load.pause();
    const held = await server.holdings();
    const cache = Number(/^response_cache_bytes (\d+)/m.exec(await server.scrape())?.[1] ?? 0);
    load.resume();
    warnings = held.warnings;
    const at = (performance.now() - since) / 1000;
    const { rss, heapUsed, external, fds, resources, listeners } = held;
    const done = { at, requests: load.tally.answered, published: publisher.published, cache };
    samples.push({ ...done, rss, heapUsed, external, fds, resources, listeners });
    say(samples.at(-1)!);
  }
  return { samples, warnings };
};

export const soak = async (
  adapter: AdapterName,
  options: SoakOptions,
  say: (sample: SoakSample) => void,
): Promise<SoakResult> => {
  const folder = await mkdtemp(join(tmpdir(), 'metro-forecast-soak-'));
  const source = join(packageRoot, 'plugins/metro/dataset');
  const ends: (() => unknown)[] = [() => rm(folder, { recursive: true, force: true })];
  try {
    const redis = await startRedis();
    ends.push(() => redis.stop());
    const database = adapter === 'mongo' ? await startMongo() : undefined;
    if (database) ends.push(() => database.stop());
    const served = join(folder, 'dataset');
    await cp(source, served, { recursive: true });
    const trusted = newKey({ limit_per_minute: NEVER_REFUSED });
    const limited = newKey({ limit_per_minute: SMALL_LIMIT });
    const settings = {
      folder,
      adapter: database ? { use: 'mongo', options: { uri: database.url, database: 'soak', ...POOL } } : json(served),
      redis: redis.url,
      keys: [trusted.record, limited.record],
    };
    const publisher = await Publisher.open(await writeSoakConfig({ ...settings, level: 'warn' }), source);
    ends.push(() => publisher.close());
    await publisher.publish();
    const server = await startSoakedServer(await writeSoakConfig({ ...settings, level: 'info' }));
    ends.push(() => server.kill());

    const load = new Load(server.port);
    ends.push(() => load.close());
    const mix = {
      seed: options.seed,
      cbsas: await codesOf(source, 'markets', 'cbsa'),
      series: (await codesOf(source, 'series', 'series_id')).filter((id) => id !== 'metro_hpi'),
      key: trusted.key,
      limitedKey: limited.key,
      versions: adapter === 'mongo',
      etags: load.etags,
    };
    load.turnTo(manyAddresses(mix));
    load.start(options.clients);
    while (load.tally.answered < FILLING) await delay(50);
    load.turnTo(requestMix(mix));
    const publishing = publisher.run(options.publishEvery);
    const sampled = await Promise.race([sampleAll({ server, load, publisher }, options.seconds, say), publishing]);
    if (!sampled) throw new Error('The publisher ended before its time.');
    await load.pause();
    load.close();
    await publisher.close();
    await server.stop();
    return { adapter, tally: load.tally, ...sampled };
  } finally {
    for (const end of ends.reverse()) await end();
  }
};
