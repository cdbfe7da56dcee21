/** MongoDB beside JSON files: answers that are kept, and answers that have to be fetched. */
import { fileURLToPath } from 'node:url';
import { startMongo } from '../../test/support/services.js';
import { type Bench, toLoadCore } from '../bench.js';
import { runPinned, SERVER_CORE } from '../pinned-process.js';
import { type RunningServer, startServer } from '../server.js';
import { BASE, json, mongo, publish, type ServiceOptions, serviceCommand } from '../service.js';
import { median } from '../statistics.js';
import { percent, type SectionReport } from '../table.js';
import { takeTurns } from '../turns.js';

const DATABASE = 'bench';

const program = (name: string): string => fileURLToPath(new URL(`../${name}.js`, import.meta.url));

const findAlone = async (bench: Bench, uri: string): Promise<number> => {
  const command = [process.execPath, program('round-trip'), 'mongo', uri, DATABASE, bench.cbsa];
  return Number(await runPinned(SERVER_CORE, command));
};

export const mongoSection = async (bench: Bench): Promise<SectionReport> => {
  const server = await startMongo();
  const running: RunningServer[] = [];
  const start = async (options: ServiceOptions): Promise<string> => {
    const started = await startServer(await serviceCommand(bench, options));
    running.push(started);
    return `${started.origin}${BASE}/markets/${bench.cbsa}`;
  };
  try {
    toLoadCore(server.pid);
    const files = { adapter: json(bench.dataset), limiter: 'memory' } as const;
    const database = { adapter: mongo(server.url, DATABASE), limiter: 'memory' } as const;
    bench.say('MongoDB: publishing');
    await publish(bench, database, bench.dataset);
    const hotJson = await start(files);
    const hotMongo = await start(database);
    const coldJson = await start({ ...files, cacheBytes: 0 });
    const coldMongo = await start({ ...database, cacheBytes: 0 });
    const bare = await startServer({
      command: [process.execPath, program('find-server'), server.url, DATABASE, bench.cbsa],
      probe: '/',
      key: bench.key,
    });
    running.push(bare);
    bench.say('MongoDB: kept answers');
    const hot = await takeTurns(bench, [
      { name: 'JSON', url: hotJson, connections: 32 },
      { name: 'MongoDB', url: hotMongo, connections: 32 },
    ]);
    bench.say('MongoDB: fetched answers');
    const turns = [
      { name: 'JSON, kept', url: hotJson, connections: 1 },
      { name: 'JSON, not kept', url: coldJson, connections: 1 },
      { name: 'the driver in a bare node:http', url: bare.origin, connections: 1 },
      { name: 'MongoDB, not kept', url: coldMongo, connections: 1 },
    ];
    const oneRound = { ...bench, settings: { ...bench.settings, rounds: 1 } };
    const finds: number[] = [];
    const answers = new Map(turns.map(({ name }) => [name, [] as number[]]));
    for (let round = 0; round < bench.settings.rounds; round++) {
      finds.push(await findAlone(bench, server.url));
      for (const [name, { p50 }] of await takeTurns(oneRound, turns)) answers.get(name)!.push(p50);
    }
    const driver = median(finds);
    const single = new Map([...answers].map(([name, times]) => [name, median(times)]));
    const cold = single.get('MongoDB, not kept')!;
    const overHttp = single.get('the driver in a bare node:http')!;
    const kept = single.get('JSON, kept')!;
    const rates = hot.get('MongoDB')!.requestsPerSecond / hot.get('JSON')!.requestsPerSecond;
    return {
      tables: [
        {
          title: 'One market whose answer is kept, 32 connections',
          columns: ['', 'requests/s', 'spread'],
          rows: [...hot].map(([name, outcome]) => [name, outcome.requestsPerSecond, percent(outcome.spread)]),
        },
        {
          title: 'One market, one request at a time: median in microseconds',
          columns: ['', 'p50', 'x driver'],
          rows: [['the driver alone', driver, 1], ...[...single].map(([name, p50]) => [name, p50, p50 / driver])],
        },
      ],
      notes: [
        `Kept answers from MongoDB are served at ${rates.toFixed(2)} x the rate of JSON's.`,
        `A fetched one takes ${cold.toFixed(0)} microseconds over HTTP: ${(cold / driver).toFixed(2)} x what the driver needs ` +
          `for the same find without HTTP, ${(cold / overHttp).toFixed(2)} x what it needs within a bare node:http, and ` +
          `${((cold - kept) / driver).toFixed(2)} x the driver beyond a kept answer. Limits are in memory here.`,
      ],
    };
  } finally {
    await Promise.all(running.map((service) => service.stop()));
    await server.stop();
  }
};
