/** What callers notice of a publication: latency while one version after another is taken over, beside that without. */
import { cp, readFile, rename, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { MANIFEST_FILE } from '../../core/dataset/manifest.js';
import type { ArrivalResult } from '../arrival.js';
import type { Bench } from '../bench.js';
import { marketCodes } from '../dataset.js';
import { medianOf, runArrival } from '../run-arrival.js';
import { startServer } from '../server.js';
import { BASE, json, serviceCommand } from '../service.js';
import type { SectionReport } from '../table.js';
import { runWrk } from '../wrk.js';

const CONNECTIONS = 64;
const PUBLICATION_EVERY_MS = 1000;
/** As the service is asked in earnest, so that a swap has much to make ready. */
const ASKED = ['/markets', '/forecasts', '/signals', '/observations?series_id=metro_hpi'];

/** A directory that is one of two versions; taking over the other costs whoever swaps them nothing. */
const swappable = async (bench: Bench): Promise<{ readonly path: string; swap(): Promise<void> }> => {
  const path = join(bench.folder, 'published');
  const other = join(bench.folder, 'dataset-other');
  await cp(bench.dataset, other, { recursive: true });
  const manifest = JSON.parse(await readFile(join(other, MANIFEST_FILE), 'utf8'));
  await writeFile(join(other, MANIFEST_FILE), JSON.stringify({ ...manifest, version: `${manifest.version}-other` }));
  await symlink(bench.dataset, path);
  let current = bench.dataset;
  return {
    path,
    swap: async () => {
      current = current === other ? bench.dataset : other;
      await symlink(current, `${path}.next`);
      await rename(`${path}.next`, path);
    },
  };
};

export const publishing = async (bench: Bench): Promise<SectionReport> => {
  const published = await swappable(bench);
  const server = await startServer(await serviceCommand(bench, { adapter: json(published.path), limiter: 'redis' }));
  try {
    const urlOf = (path: string): string => `${server.origin}${BASE}${path}`;
    const markets = marketCodes(1).flatMap((cbsa) => [`/markets/${cbsa}`, `/markets/${cbsa}/history`]);
    for (const path of [...ASKED, ...markets]) {
      const response = await fetch(urlOf(path), { headers: { Authorization: `Bearer ${bench.key}` } });
      await response.arrayBuffer();
    }
    const url = urlOf(`/markets/${bench.cbsa}`);
    const { rounds, seconds } = bench.settings;
    await runWrk({ url, key: bench.key, connections: 32, seconds: 1 });
    const { requestsPerSecond } = await runWrk({ url, key: bench.key, connections: 32, seconds });
    const rate = Math.floor(requestsPerSecond / 2);
    bench.say(`Publishing: ${rate} requests/s`);
    const run = () => runArrival({ url, key: bench.key, rate, seconds, warmUpSeconds: 1, connections: CONNECTIONS });
    const without: ArrivalResult[] = [];
    const during: ArrivalResult[] = [];
    for (let round = 0; round < rounds; round++) {
      without.push(await run());
      const timer = setInterval(() => void published.swap(), PUBLICATION_EVERY_MS);
      during.push(await run().finally(() => clearInterval(timer)));
    }
    const row = (name: string, runs: readonly ArrivalResult[]) => [
      name,
      medianOf(runs, 'p50'),
      medianOf(runs, 'p99'),
      medianOf(runs, 'p999'),
    ];
    return {
      tables: [
        {
          title: `One market at ${rate} requests/s, half of the capacity, by publications: latency in microseconds`,
          columns: ['', 'p50', 'p99', 'p99.9'],
          rows: [row('none', without), row('one a second', during)],
        },
      ],
      notes: [
        `A publication each second makes p99 ${(medianOf(during, 'p99') / medianOf(without, 'p99')).toFixed(1)} x as long. Each is 88,000 ` +
          `rows that are read, checked and indexed, and ${ASKED.length + markets.length} answers made anew, beside the requests ` +
          'and on the same core; so are the threads on which V8 collects and compiles.',
      ],
    };
  } finally {
    await server.stop();
  }
};
