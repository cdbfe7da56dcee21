/** Measures the section `rows`: tables of 100,000 and 1,000,000 rows, compared with SQLite behind Fastify. */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { mkdtemp } from 'node:fs/promises';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { packageRoot } from '../core/util/package.js';
import { randomFrom } from '../plugins/metro/sample/random.js';
import { type Server, startMongo } from '../test/support/services.js';
import { type Bench, say } from './bench.js';
import type { Entrant } from './lineup.js';
import { bindStore, cpuSeconds, startBoundRedis } from './process.js';
import { writeRequests } from './requests.js';
import { CITIES, dayAt, KINDS, saleId, writeRows } from './rows-dataset.js';
import type { SectionReport } from './sections.js';
import { type ServerCommand, startServer } from './server.js';
import { BASE, bearer, json, type ServiceOptions, startCommand, writeConfig } from './service.js';
import { median } from './statistics.js';
import type { Table } from './table.js';
import { takeTurns } from './turns.js';

const JSON_ADAPTER = 'the service, json';
const MONGO_ADAPTER = 'the service, mongo';
const SQLITE = 'SQLite behind Fastify';

const SIZES = { full: [100_000, 1_000_000], quick: [10_000] } as const;
/** The number of different requests of each kind. It is high, so that few requests repeat. */
const REQUESTS = 20_000;
const CONNECTIONS = 16;

const after = (id: string): string => Buffer.from(JSON.stringify(['id', id])).toString('base64url');

type Kind = readonly [title: string, path: (below: (limit: number) => number, rows: number) => string];

const KINDS_OF_REQUESTS: readonly Kind[] = [
  ['Row by key', (below, rows) => `/sales/${saleId(below(rows))}`],
  ['Page of 100', (below) => `/sales?limit=100&sort=id&after=${after(saleId(below(100)))}`],
  ['Deep page of 100', (below, rows) => `/sales?limit=100&sort=id&after=${after(saleId(rows / 2 + below(rows / 4)))}`],
  [
    'Filter by category, 100 rows',
    (below) => `/sales?kind=${KINDS[below(KINDS.length)]}&sort=kind&limit=${90 + below(11)}`,
  ],
  [
    'Two filters, sorted, 100 rows',
    (below) =>
      `/sales?city=${encodeURIComponent(CITIES[below(CITIES.length)]!)}&sold_on%5Bgte%5D=${dayAt(below(2000))}&sort=city&limit=100`,
  ],
  [
    'Range of dates, 100 rows',
    (below) => `/sales?sold_on%5Bgte%5D=${dayAt(below(3000))}&sold_on%5Blte%5D=${dayAt(3640)}&sort=sold_on&limit=100`,
  ],
];

/** The settings of the service. Redis and the response cache are off, since SQLite behind Fastify has neither. */
const settings = (dataset: string) => ({
  redis: undefined,
  metrics: undefined,
  http: { cacheBytes: 0 },
  plugins: [{ use: 'tables', options: { path: dataset } }],
});

const serviceCommand = async (
  bench: Bench,
  dataset: string,
  adapter: ServiceOptions['adapter'],
): Promise<{ readonly config: string; readonly command: ServerCommand }> => {
  const folder = await mkdtemp(join(bench.folder, 'service-'));
  const more = settings(dataset);
  const config = await writeConfig({ folder, adapter, redis: 'redis://127.0.0.1:1', keys: bench.records, more });
  const command = await startCommand(config);
  return { config, command: { command, probe: `${BASE}/sales/${saleId(0)}`, key: bench.hugeKey } };
};

const commandsOf = async (
  bench: Bench,
  dataset: string,
  mongo: Server,
): Promise<ReadonlyMap<string, ServerCommand>> => {
  const ofJson = await serviceCommand(bench, dataset, json(dataset));
  const uri = new URL(mongo.url);
  uri.pathname = `rows_${dataset.split('-').at(-1)}`;
  const ofMongo = await serviceCommand(bench, dataset, { use: 'mongo', options: { uri: String(uri) } });
  say('Publishing to MongoDB');
  const publish = [
    ...(await startCommand(ofMongo.config)).slice(0, -3),
    'publish',
    dataset,
    '--config',
    ofMongo.config,
  ];
  execFileSync(publish[0]!, publish.slice(1), { stdio: 'ignore' });
  const options = { dataset, database: join(bench.folder, `${dataset.split('/').at(-1)}.db`), limits: bench.limits };
  const command = [process.execPath, join(packageRoot, 'bench/contenders/sqlite.js'), JSON.stringify(options)];
  const peer = { command, probe: `${BASE}/sales/${saleId(0)}`, key: bench.hugeKey };
  const first = await startServer(peer);
  await first.stop();
  return new Map([
    [JSON_ADAPTER, ofJson.command],
    [MONGO_ADAPTER, ofMongo.command],
    [SQLITE, peer],
  ]);
};

const memoryOf = (pid: number, field: 'VmRSS' | 'RssAnon'): number =>
  Number(new RegExp(`${field}:\\s+(\\d+)`).exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0) / 1024;

interface Export {
  readonly firstMs: number;
  readonly cpuSeconds: number;
  readonly extraMiB: number;
}

/** Reads the whole table as CSV, and measures the export. */
const exportCsv = async ({ server }: Entrant, key: string): Promise<Export> => {
  const before = memoryOf(server.pid, 'RssAnon');
  const used = cpuSeconds(server.pid);
  const started = performance.now();
  const url = `${server.origin}${BASE}/sales?format=csv`;
  const response = await fetch(url, { headers: { Authorization: bearer(key), 'Accept-Encoding': 'identity' } });
  let firstMs = 0;
  let most = before;
  for await (const _ of response.body!) {
    firstMs ||= performance.now() - started;
    most = Math.max(most, memoryOf(server.pid, 'RssAnon'));
  }
  return { firstMs, cpuSeconds: cpuSeconds(server.pid) - used, extraMiB: most - before };
};

/** @throws if the contenders do not return the same rows */
const assertEqualRows = async (entrants: readonly Entrant[], paths: readonly string[], key: string): Promise<void> => {
  for (const path of paths) {
    const bodies = await Promise.all(
      entrants.map(async ({ server }) =>
        (await fetch(`${server.origin}${path}`, { headers: { Authorization: bearer(key) } })).json(),
      ),
    );
    for (const [i, body] of bodies.entries()) {
      if (!isDeepStrictEqual(body, bodies[0])) throw new Error(`${entrants[i]!.name} has other rows at ${path}`);
    }
  }
};

const measure = async (bench: Bench, rows: number, mongo: Server): Promise<readonly Table[]> => {
  const dataset = join(bench.folder, `rows-${rows}`);
  await writeRows(dataset, rows);
  const random = randomFrom('rows');
  const below = (limit: number): number => Math.floor(random.uniform() * limit);
  const lists = KINDS_OF_REQUESTS.map(([, path]) => Array.from({ length: REQUESTS }, () => BASE + path(below, rows)));
  const redis = await startBoundRedis();
  const entrants: Entrant[] = [];
  const atRest: (readonly [number, number])[] = [];
  try {
    for (const [name, command] of await commandsOf(bench, dataset, mongo)) {
      say(`Starting ${name} with ${rows} rows`);
      const server = await startServer(command);
      entrants.push({ name, server, redis });
      atRest.push([cpuSeconds(server.pid), memoryOf(server.pid, 'VmRSS')]);
    }
    await assertEqualRows(
      entrants,
      lists.flatMap((list) => list.slice(0, 20)),
      bench.hugeKey,
    );
    const files = await Promise.all(
      lists.map((list) =>
        writeRequests(
          bench.folder,
          list.map((path) => ({ path, key: bench.hugeKey })),
        ),
      ),
    );
    const turns = files.map((list) => entrants.map((entrant) => ({ entrant, list, connections: CONNECTIONS })));
    const measured = await takeTurns(turns, bench.settings);
    const exports = entrants.map(() => [] as Export[]);
    for (let round = 0; round < Math.min(3, bench.settings.rounds); round++) {
      for (const [i, entrant] of entrants.entries()) exports[i]!.push(await exportCsv(entrant, bench.hugeKey));
    }
    const names = entrants.map(({ name }) => name);
    const of = (i: number, figure: keyof Export): number => median(exports[i]!.map((each) => each[figure]));
    const titled = (what: string): string => `${rows.toLocaleString('en-US')} rows: ${what}`;
    return [
      {
        title: titled('CPU per request in microseconds, without a cache'),
        columns: ['', ...names],
        rows: KINDS_OF_REQUESTS.map(([title], i) => [title, ...names.map((name) => measured[i]!.get(name)!.serverCpu)]),
      },
      {
        title: titled('start, and the whole table as CSV'),
        columns: ['', 'start, CPU in s', 'memory, MiB', 'first byte, ms', 'CPU of the export, s', 'extra memory, MiB'],
        rows: names.map((name, i) => [name, ...atRest[i]!, of(i, 'firstMs'), of(i, 'cpuSeconds'), of(i, 'extraMiB')]),
      },
    ];
  } finally {
    await Promise.allSettled(entrants.map(({ server }) => server.stop()));
    await redis.stop();
  }
};

export const measureRows = async (bench: Bench): Promise<SectionReport> => {
  const mongo = await startMongo();
  bindStore(mongo.pid);
  try {
    const tables: Table[] = [];
    for (const rows of SIZES[bench.settings.mode]) tables.push(...(await measure(bench, rows, mongo)));
    return {
      tables,
      notes: [
        'A table of ten columns and six orders, read in random order by one huge key. All contenders return equal rows.',
        `${SQLITE} is what an engineer writes for one table: Fastify 5, libsql (the interface of better-sqlite3) with ` +
          'prepared statements over a memory-mapped file, hashed bearer keys, limits per minute in memory, schema checks, ETags ' +
          'and a streamed export. It has no request log, and it has built its file before its start is measured.',
        'The service has its log and its limits in memory. MongoDB and the load share the other core.',
      ],
    };
  } finally {
    await mongo.stop();
  }
};
