/** MongoDB beside JSON files: answers that are kept, and answers that have to be fetched. */
import { fileURLToPath } from 'node:url';
import { startMongo } from '../../test/support/services.js';
import { type Bench, toLoadCore } from '../bench.js';
import { marketCodes } from '../dataset.js';
import { runPinned, SERVER_CORE } from '../pinned-process.js';
import { writeRequests } from '../request-list.js';
import { type RunningServer, startServer } from '../server.js';
import { BASE, json, mongo, publish, type ServiceOptions, serviceCommand } from '../service.js';
import { median } from '../statistics.js';
import { percent, type SectionReport } from '../table.js';
import { type Outcome, type Turn, takeTurns } from '../turns.js';

const DATABASE = 'bench';
const CONNECTIONS = 32;
/** Of each kind that serves kept answers: for all its life one process is some percent faster than another like it. */
const PROCESSES = 3;

const program = (name: string): string => fileURLToPath(new URL(`../${name}.js`, import.meta.url));

/** In microseconds. */
const findAlone = async (bench: Bench, uri: string): Promise<number> => {
  const command = [process.execPath, program('round-trip'), 'mongo', uri, DATABASE, bench.cbsa];
  return Number(await runPinned(SERVER_CORE, command));
};

/** A second. */
const findsAlone = async (bench: Bench, uri: string): Promise<number> => {
  const { seconds } = bench.settings;
  const command = [process.execPath, program('find-rate'), uri, DATABASE, String(CONNECTIONS), String(seconds)];
  return Number(await runPinned(SERVER_CORE, command));
};

const ALONE = 'the driver alone';
const BARE = 'the driver in a bare node:http';
const COLD = 'MongoDB, not kept';

/** Medians of one figure of the servers and of the driver alone, which has its turn among theirs. */
const inTurns = async (
  bench: Bench,
  figure: keyof Outcome,
  alone: () => Promise<number>,
  turns: readonly Turn[],
): Promise<ReadonlyMap<string, number>> => {
  const samples = new Map([ALONE, ...turns.map(({ name }) => name)].map((name) => [name, [] as number[]]));
  const oneRound = { ...bench, settings: { ...bench.settings, rounds: 1 } };
  for (let round = 0; round < bench.settings.rounds; round++) {
    samples.get(ALONE)!.push(await alone());
    for (const [name, outcome] of await takeTurns(oneRound, turns)) samples.get(name)!.push(outcome[figure]);
  }
  return new Map([...samples].map(([name, all]) => [name, median(all)]));
};

export const mongoSection = async (bench: Bench): Promise<SectionReport> => {
  const server = await startMongo();
  const running: RunningServer[] = [];
  const market = `${BASE}/markets/${bench.cbsa}`;
  const start = async (options: ServiceOptions): Promise<Pick<Turn, 'url' | 'pid'>> => {
    const started = await startServer(await serviceCommand(bench, options));
    running.push(started);
    return { url: started.origin + market, pid: started.pid };
  };
  try {
    toLoadCore(server.pid);
    const files = { adapter: json(bench.dataset), limiter: 'memory' } as const;
    const database = { adapter: mongo(server.url, DATABASE), limiter: 'memory' } as const;
    bench.say('MongoDB: publishing');
    await publish(bench, database, bench.dataset);
    const kept: Turn[] = [];
    for (let pair = 0; pair < PROCESSES; pair++) {
      kept.push({ name: 'JSON', ...(await start(files)), connections: CONNECTIONS });
      kept.push({ name: 'MongoDB', ...(await start(database)), connections: CONNECTIONS });
    }
    const coldJson = await start({ ...files, cacheBytes: 0 });
    const coldMongo = await start({ ...database, cacheBytes: 0 });
    const bare = await startServer({
      command: [process.execPath, program('find-server'), server.url, DATABASE],
      probe: market,
      key: bench.key,
    });
    running.push(bare);
    bench.say('MongoDB: kept answers');
    const hot = await takeTurns(bench, kept);
    bench.say('MongoDB: fetched answers, many at a time');
    // Different ones: answers that are asked for at the same time are fetched once. Before those one at a time, in which
    // code comes to be compiled slowly.
    const codes = marketCodes(1);
    const requests = await writeRequests(
      bench.folder,
      codes.map((code) => ({ path: `${BASE}/markets/${code}`, key: bench.key })),
    );
    const different = { requests, connections: CONNECTIONS };
    const many = await inTurns(bench, 'requestsPerSecond', () => findsAlone(bench, server.url), [
      { name: BARE, url: bare.origin, ...different },
      { name: COLD, ...coldMongo, ...different },
    ]);
    bench.say('MongoDB: fetched answers, one at a time');
    const single = await inTurns(bench, 'p50', () => findAlone(bench, server.url), [
      { ...kept[0]!, name: 'JSON, kept', connections: 1 },
      { name: 'JSON, not kept', ...coldJson, connections: 1 },
      { name: BARE, url: bare.origin + market, connections: 1 },
      { name: COLD, ...coldMongo, connections: 1 },
    ]);
    const driver = single.get(ALONE)!;
    const cold = single.get(COLD)!;
    const finds = many.get(ALONE)!;
    const rates = hot.get('MongoDB')!.requestsPerSecond / hot.get('JSON')!.requestsPerSecond;
    return {
      tables: [
        {
          title: `One market whose answer is kept, ${CONNECTIONS} connections, ${PROCESSES} processes of each`,
          columns: ['', 'requests/s', 'spread', 'CPU, microseconds'],
          rows: [...hot].map(([name, outcome]) => [
            name,
            outcome.requestsPerSecond,
            percent(outcome.spread),
            outcome.cpu,
          ]),
        },
        {
          title: `Different markets, ${CONNECTIONS} at a time`,
          columns: ['', 'markets/s', 'time, x driver'],
          rows: [...many].map(([name, rate]) => [name, rate, finds / rate]),
        },
        {
          title: 'One market, one request at a time: median in microseconds',
          columns: ['', 'p50', 'x driver'],
          rows: [...single].map(([name, p50]) => [name, p50, p50 / driver]),
        },
      ],
      notes: [
        `Kept answers from MongoDB are served at ${rates.toFixed(2)} x the rate of JSON's.`,
        `A fetched one takes ${cold.toFixed(0)} microseconds over HTTP: ${(cold / driver).toFixed(2)} x what the driver needs ` +
          `for the same find without HTTP, ${(cold / single.get(BARE)!).toFixed(2)} x what it needs within a bare node:http, ` +
          `and ${((cold - single.get('JSON, kept')!) / driver).toFixed(2)} x the driver beyond a kept answer. Of many at a time ` +
          `each takes ${(finds / many.get(COLD)!).toFixed(2)} x what the driver needs. Limits are in memory here.`,
      ],
    };
  } finally {
    await Promise.all(running.map((service) => service.stop()));
    await server.stop();
  }
};
