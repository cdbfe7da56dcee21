/** What callers notice of a publication: latency while one is always under way, beside that without. */
import { once } from 'node:events';
import { cp, readFile, rename, symlink, writeFile } from 'node:fs/promises';
import { Agent, get, type IncomingMessage } from 'node:http';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { WARM_UP_MS } from '../../cli/engine.js';
import { MANIFEST_FILE } from '../../core/data/manifest.js';
import type { ArrivalResult } from '../arrival.js';
import type { Bench } from '../bench.js';
import { marketCodes } from '../dataset.js';
import { writeRequests } from '../request-list.js';
import { runArrival } from '../run-arrival.js';
import { startServer } from '../server.js';
import { BASE, json, serviceCommand } from '../service.js';
import { median, medianOf } from '../statistics.js';
import type { SectionReport } from '../table.js';
import { runWrk } from '../wrk.js';

const CONNECTIONS = 64;
/**
 * How often to ask whether a version has been taken over: seldom, and with little work, since whoever asks is on the
 * load generator's core, and a generator that is kept from sending counts as a server that is late.
 */
const POLL_MS = 500;
/** Long enough for a publication under load, the first one of all being the slowest. */
const FIRST_SECONDS = 40;
/** As the service is asked in earnest, so that a swap has much to make ready. */
const ASKED = ['/markets', '/forecasts', '/signals', '/observations?series_id=metro_hpi'];

interface Swappable {
  readonly path: string;
  /** Makes it the other version, and resolves with that. */
  swap(): Promise<string>;
}

/** A directory that is one of two versions; taking over the other costs whoever swaps them nothing. */
const swappable = async (bench: Bench): Promise<Swappable> => {
  const path = join(bench.folder, 'published');
  const other = join(bench.folder, 'dataset-other');
  await cp(bench.dataset, other, { recursive: true });
  const manifest = JSON.parse(await readFile(join(other, MANIFEST_FILE), 'utf8'));
  const otherVersion = `${manifest.version}-other`;
  await writeFile(join(other, MANIFEST_FILE), JSON.stringify({ ...manifest, version: otherVersion }));
  await symlink(bench.dataset, path);
  let current = bench.dataset;
  return {
    path,
    swap: async () => {
      current = current === other ? bench.dataset : other;
      await symlink(current, `${path}.next`);
      await rename(`${path}.next`, path);
      return current === other ? otherVersion : manifest.version;
    },
  };
};

/**
 * Publishes one version after another, each as soon as the one before is served; the last one, too, is waited for, so
 * that it is not part of what is measured next.
 * @returns how many milliseconds each took that was served before the signal was aborted
 */
const publishOn = async (
  published: Swappable,
  servedVersion: () => Promise<unknown>,
  signal: AbortSignal,
): Promise<number[]> => {
  const times: number[] = [];
  while (!signal.aborted) {
    const since = performance.now();
    const version = await published.swap();
    while ((await servedVersion()) !== version) await delay(POLL_MS);
    if (!signal.aborted) times.push(performance.now() - since);
  }
  return times;
};

export const publishing = async (bench: Bench): Promise<SectionReport> => {
  const published = await swappable(bench);
  const agent = new Agent({ keepAlive: true });
  const server = await startServer(await serviceCommand(bench, { adapter: json(published.path), limiter: 'redis' }));
  try {
    const urlOf = (path: string): string => `${server.origin}${BASE}${path}`;
    const headers = { Authorization: `Bearer ${bench.key}` };
    const ask = async (path: string): Promise<void> => {
      const response = await fetch(urlOf(path), { headers });
      await response.arrayBuffer();
    };
    const url = urlOf(`/markets/${bench.cbsa}`);
    const servedVersion = async () => {
      const [response] = (await once(get(url, { agent, headers }), 'response')) as [IncomingMessage];
      response.resume();
      return response.headers['snapshot-version'];
    };
    const markets = marketCodes(1).flatMap((cbsa) => [`/markets/${cbsa}`, `/markets/${cbsa}/history`]);
    for (const path of [...ASKED, ...markets]) await ask(path);
    const { mode, rounds, seconds } = bench.settings;
    await runWrk({ url, key: bench.key, connections: 32, seconds: WARM_UP_MS / 1000 });
    const { requestsPerSecond } = await runWrk({ url, key: bench.key, connections: 32, seconds });
    const rate = Math.floor(requestsPerSecond / 2);
    bench.say(`Publishing: ${rate} requests/s`);
    const requests = await writeRequests(bench.folder, [{ path: `${BASE}/markets/${bench.cbsa}`, key: bench.key }]);
    const run = (length: number) =>
      runArrival({ url, requests, rate, seconds: length, warmUpSeconds: 1, connections: CONNECTIONS });
    const runDuring = async (length: number) => {
      const end = new AbortController();
      const swapping = publishOn(published, servedVersion, end.signal);
      const latency = await run(length).finally(() => end.abort());
      return { latency, publications: await swapping };
    };
    // A turn is as long as a publication, so that all that it does is in it.
    const first = await runDuring(mode === 'full' ? FIRST_SECONDS : seconds);
    const [firstMs = 0] = first.publications;
    const turn = Math.max(seconds, Math.ceil(firstMs / 1000));
    const without: ArrivalResult[] = [];
    const during: ArrivalResult[] = [];
    const publications: number[] = [];
    for (let round = 0; round < rounds; round++) {
      without.push(await run(turn));
      const next = await runDuring(turn);
      during.push(next.latency);
      publications.push(...next.publications);
    }
    const took = publications.length > 0 ? `, which is ${(median(publications) / 1000).toFixed(1)} s` : '';
    const row = (name: string, runs: readonly ArrivalResult[]) => [
      name,
      medianOf(runs, 'p50'),
      medianOf(runs, 'p99'),
      medianOf(runs, 'p999'),
    ];
    return {
      tables: [
        {
          title: `One market at ${rate} requests/s, half of the capacity, by publication: latency in microseconds`,
          columns: ['', 'p50', 'p99', 'p99.9'],
          rows: [row('none', without), row('always one under way', during)],
        },
      ],
      notes: [
        `A publication makes p99 ${(medianOf(during, 'p99') / medianOf(without, 'p99')).toFixed(1)} x as long while it lasts${took}. A turn lasts as long as the first one. ` +
          `Each is 88,000 rows that are read, checked and indexed, and ${ASKED.length + markets.length} answers made anew, beside the requests ` +
          'and on the same core, as are the threads on which V8 collects and compiles.',
      ],
    };
  } finally {
    agent.destroy();
    await server.stop();
  }
};
