import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { randomFrom } from '../plugins/metro/sample/random.js';
import { type Server, startMongo } from '../test/support/services.js';
import { type Bench, say } from './bench.js';
import type { Message } from './client.js';
import type { Entrant as RunningEntrant } from './lineup.js';
import { bindStore, cpuSeconds, startBoundRedis } from './process.js';
import { writeRequests } from './requests.js';
import { fillStores, JSON_ADAPTER, MONGO_ADAPTER, PEER, SQLITE_ADAPTER } from './rows-contenders.js';
import { writeRows } from './rows-dataset.js';
import { LOOKUPS, lookupsTitle, QUESTIONS, type RowsRequest, titled } from './rows-requests.js';
import type { SectionReport } from './sections.js';
import { startServer } from './server.js';
import { BASE, bearer } from './service.js';
import { median } from './statistics.js';
import type { Table } from './table.js';
import { takeTurns } from './turns.js';

const SIZES = { full: [100_000, 1_000_000], quick: [10_000] } as const;
const LARGE = 10_000_000;

/** Number of distinct requests of each kind. With 20,000 requests, few requests repeat. */
const REQUESTS = 20_000;
const CONNECTIONS = 16;
const COMPARED = 4;
/** The service runs at most two expensive queries of one caller at the same time. */
const QUESTION_CONNECTIONS = 2;

const PEER_NOTES: Readonly<Record<string, string>> = {
  Datasette: `Datasette receives the same questions as SQL, on the file of ${PEER}. It checks no keys.`,
  ROAPI: 'ROAPI receives the same questions as SQL. It checks no keys, has no index, and searches with LIKE.',
};

interface Entrant extends RunningEntrant {
  readonly ask: (path: string) => Message;
}

const memoryOf = (pid: number, field: 'VmRSS' | 'RssAnon'): number =>
  Number(new RegExp(`${field}:\\s+(\\d+)`).exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0) / 1024;

interface Export {
  readonly firstMs: number;
  readonly cpuSeconds: number;
  readonly extraMiB: number;
}

const request = ({ server, ask }: Entrant, path: string, key: string): Promise<Response> => {
  const { path: translated, headers, method = 'GET', body = null } = ask(path);
  const own = { Authorization: bearer(key), 'Accept-Encoding': 'identity', ...headers };
  return fetch(server.origin + translated, { method, body, headers: own });
};

const exportCsv = async (entrant: Entrant, key: string, rows: number): Promise<Export> => {
  const { server } = entrant;
  const before = memoryOf(server.pid, 'RssAnon');
  const used = cpuSeconds(server.pid);
  const started = performance.now();
  const response = await request(entrant, `${BASE}/sales?format=csv`, key);
  let [firstMs, lines] = [0, 0];
  let most = before;
  for await (const chunk of response.body!) {
    for (const byte of chunk) if (byte === 10) lines++;
    firstMs ||= performance.now() - started;
    most = Math.max(most, memoryOf(server.pid, 'RssAnon'));
  }
  if (lines !== rows + 1) throw new Error(`The CSV of ${entrant.name} has ${lines} lines instead of ${rows + 1}.`);
  return { firstMs, cpuSeconds: cpuSeconds(server.pid) - used, extraMiB: most - before };
};

const exportTable = async (
  entrants: readonly Entrant[],
  starts: readonly (readonly [filled: number | null, cpu: number, memory: number])[],
  { hugeKey, settings }: Bench,
  rows: number,
): Promise<Omit<Table, 'title'>> => {
  const exports = entrants.map(() => [] as Export[]);
  for (let round = 0; round < Math.min(3, settings.rounds); round++) {
    for (const [i, entrant] of entrants.entries()) exports[i]!.push(await exportCsv(entrant, hugeKey, rows));
  }
  const medianOf = (i: number, figure: keyof Export): number => median(exports[i]!.map((each) => each[figure]));
  return {
    columns: [
      ...['', 'filling the store, CPU in s', 'start, CPU in s', 'memory, MiB'],
      ...['first byte of the CSV, ms', 'CPU of the CSV, s', 'extra memory, MiB'],
    ],
    rows: entrants.map(({ name }, i) => [
      ...[name, ...starts[i]!],
      ...[medianOf(i, 'firstMs'), medianOf(i, 'cpuSeconds'), medianOf(i, 'extraMiB')],
    ]),
  };
};

/**
 * Sums of floating-point numbers depend on the order of the additions, so they are rounded. ROAPI omits columns without
 * a value, so null values are ignored.
 */
const comparable = (body: string): unknown => {
  const parsed = JSON.parse(body, (_, value) =>
    typeof value === 'number' ? Number(value.toPrecision(12)) : (value ?? undefined),
  );
  return Array.isArray(parsed) || 'id' in parsed ? [parsed].flat() : parsed.data;
};

const assertEqualRows = async (entrants: readonly Entrant[], paths: readonly string[], key: string): Promise<void> => {
  for (const path of paths) {
    const bodies: unknown[] = [];
    for (const entrant of entrants) bodies.push(comparable(await (await request(entrant, path, key)).text()));
    const other = bodies.findIndex((body) => !isDeepStrictEqual(body, bodies[0]));
    if (other !== -1)
      throw new Error(`${entrants[other]!.name} returns different rows from ${entrants[0]!.name}: ${path}`);
  }
};

const requestTable = async (
  bench: Bench,
  entrants: readonly Entrant[],
  kinds: readonly RowsRequest[],
  rows: number,
  connections: number,
): Promise<Omit<Table, 'title'>> => {
  const random = randomFrom('rows');
  const below = (limit: number): number => Math.floor(random.uniform() * limit);
  const lists = kinds.map(([, path]) => Array.from({ length: REQUESTS }, () => path(below, rows)));
  for (const list of lists) await assertEqualRows(entrants, list.slice(0, COMPARED), bench.hugeKey);
  const key = bench.hugeKey;
  const turns = await Promise.all(
    lists.map((list) =>
      Promise.all(
        entrants.map(async (entrant) => {
          const requests = list.map((path) => ({ ...entrant.ask(path), key }));
          return { entrant, list: await writeRequests(bench.folder, requests), connections };
        }),
      ),
    ),
  );
  const measured = await takeTurns(turns, bench.settings);
  const names = entrants.map(({ name }) => name);
  const cpuOf = (i: number, name: string): number => measured[i]!.get(name)!.serverCpu;
  return {
    columns: ['', ...names, `${SQLITE_ADAPTER}, x ${PEER}`],
    rows: kinds.map(([title], i) => [
      ...[title, ...names.map((name) => cpuOf(i, name))],
      cpuOf(i, SQLITE_ADAPTER) / cpuOf(i, PEER),
    ]),
  };
};

const measure = async (bench: Bench, rows: number, mongo: Server | undefined): Promise<readonly Table[]> => {
  const dataset = join(bench.folder, `rows-${rows}`);
  await writeRows(dataset, rows);
  const redis = await startBoundRedis();
  const entrants: Entrant[] = [];
  const starts: (readonly [number | null, number, number])[] = [];
  try {
    for (const { name, command, filled = null, ask = (path: string) => ({ path }) } of await fillStores(
      bench,
      dataset,
      mongo,
    )) {
      say(`Starting ${name} with ${rows} rows`);
      const server = await startServer(command);
      entrants.push({ name, server, redis, ask });
      starts.push([filled, cpuSeconds(server.pid), memoryOf(server.pid, 'VmRSS')]);
    }
    const embedded = entrants.filter(({ name }) => name !== JSON_ADAPTER && name !== MONGO_ADAPTER);
    return [
      {
        title: lookupsTitle(rows),
        ...(await requestTable(bench, entrants, LOOKUPS, rows, CONNECTIONS)),
      },
      {
        title: titled(rows, 'CPU per question in microseconds, without a cache'),
        ...(await requestTable(bench, embedded, QUESTIONS, rows, QUESTION_CONNECTIONS)),
      },
      {
        title: titled(rows, 'start, and the whole table as CSV'),
        ...(await exportTable(entrants, starts, bench, rows)),
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
  const { mode, large } = bench.settings;
  try {
    const tables: Table[] = [];
    for (const rows of SIZES[mode]) tables.push(...(await measure(bench, rows, mongo)));
    if (large) tables.push(...(await measure(bench, LARGE, undefined)));
    const columns = tables.flatMap((table) => table.columns);
    const isMeasured = (name: string) => columns.some((column) => column.startsWith(name));
    return {
      tables,
      notes: [
        'A table with ten columns and six sort orders, read in random order with one huge key. All contenders return equal rows.',
        `${PEER} is what an engineer would write for one table: Fastify 5, libsql (the interface of better-sqlite3) with ` +
          'prepared statements over a memory-mapped file, an FTS5 table, hashed bearer keys, limits per minute in ' +
          'memory, schema validation, ETags, a streamed export, and one log line per request, written by pino.',
        ...Object.entries(PEER_NOTES).flatMap(([name, note]) => (isMeasured(name) ? [note] : [])),
        'The service also logs one line per request, and keeps its limits in memory. MongoDB and the load generator share the other core.',
      ],
    };
  } finally {
    await mongo.stop();
  }
};
