/** Growth: start-up, memory and speed at multiples of FHFA's data. */
import { readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { startMongo } from '../../test/support/services.js';
import { type Bench, toLoadCore } from '../bench.js';
import { marketCodes, writeDataset } from '../dataset.js';
import { residentMiB, runPinned, SERVER_CORE } from '../pinned-process.js';
import { startServer } from '../server.js';
import { BASE, json, mongo, publish, type ServiceOptions, serviceCommand } from '../service.js';
import type { Cell, SectionReport, Table } from '../table.js';
import { type Outcome, takeTurns } from '../turns.js';

const sizeMiB = async (directory: string): Promise<number> => {
  const sizes = await Promise.all((await readdir(directory)).map((name) => stat(join(directory, name))));
  return sizes.reduce((sum, { size }) => sum + size, 0) / 2 ** 20;
};

const parseMs = async (directory: string): Promise<number> => {
  const program = fileURLToPath(new URL('../parse-files.js', import.meta.url));
  const heap = '--max-old-space-size=16384';
  return JSON.parse(await runPinned(SERVER_CORE, [process.execPath, heap, program, directory])).ms;
};

const SPEED = ['market, requests/s', 'CPU, microseconds', 'history, requests/s', 'CPU, microseconds'];

interface Measured {
  readonly startMs: number;
  readonly startMiB: number;
  readonly loadedMiB: number;
  readonly market: Outcome;
  readonly history: Outcome;
}

const speed = ({ market, history }: Measured): number[] => [
  ...[market.requestsPerSecond, market.cpu],
  ...[history.requestsPerSecond, history.cpu],
];

const measure = async (bench: Bench, options: ServiceOptions): Promise<Measured> => {
  const server = await startServer(await serviceCommand(bench, options));
  try {
    const startMiB = residentMiB(server.pid);
    const url = `${server.origin}${BASE}/markets/${bench.cbsa}`;
    const outcomes = await takeTurns(bench, [
      { name: 'market', url, connections: 32, pid: server.pid },
      { name: 'history', url: `${url}/history`, connections: 32, pid: server.pid },
    ]);
    return {
      startMs: server.startMs,
      startMiB,
      loadedMiB: residentMiB(server.pid),
      market: outcomes.get('market')!,
      history: outcomes.get('history')!,
    };
  } finally {
    await server.stop();
  }
};

const inFiles = async (bench: Bench, directory: string, label: string, size: number): Promise<Cell[]> => {
  const parse = await parseMs(directory);
  try {
    const measured = await measure(bench, { adapter: json(directory), limiter: 'memory' });
    const { startMs, startMiB } = measured;
    return [label, size, parse, startMs, startMs / parse, startMiB, startMiB / size, ...speed(measured)];
  } catch (error) {
    bench.say(`JSON at ${label}: ${(error as Error).message}`);
    return [label, size, parse, 'refused', ...Array.from({ length: 3 + SPEED.length }, () => null)];
  }
};

const inMongo = async (bench: Bench, directory: string, label: string): Promise<Cell[]> => {
  const server = await startMongo();
  try {
    toLoadCore(server.pid);
    const options = { adapter: mongo(server.url, 'bench'), limiter: 'memory' } as const;
    const began = performance.now();
    await publish(bench, options, directory);
    const seconds = (performance.now() - began) / 1000;
    const measured = await measure(bench, options);
    const { startMs, startMiB, loadedMiB } = measured;
    return [label, seconds, startMs, startMiB, loadedMiB, ...speed(measured)];
  } finally {
    await server.stop();
  }
};

export const scale = async (bench: Bench): Promise<SectionReport> => {
  const files: Cell[][] = [];
  const database: Cell[][] = [];
  for (const factor of bench.settings.scales) {
    const label = `${factor} x`;
    bench.say(`Scale: ${label}`);
    const directory = join(bench.folder, `scale-${factor}`);
    await writeDataset(directory, factor);
    const scaled = { ...bench, cbsa: marketCodes(factor)[200]! };
    files.push(await inFiles(scaled, directory, label, await sizeMiB(directory)));
    if (bench.settings.mode === 'full') database.push(await inMongo(scaled, directory, label));
    await rm(directory, { recursive: true });
  }
  const tables: Table[] = [
    {
      title: 'From JSON files, by multiples of 410 markets',
      columns: ['', 'files, MiB', 'JSON.parse, ms', 'start, ms', 'x parse', 'memory, MiB', 'x files', ...SPEED],
      rows: files,
    },
  ];
  if (database.length > 0) {
    tables.push({
      title: 'From MongoDB, by multiples of 410 markets',
      columns: ['', 'publish, s', 'start, ms', 'memory, MiB', 'after load, MiB', ...SPEED],
      rows: database,
    });
  }
  return {
    tables,
    notes: [
      'Start: from the start of the process to its first answer, the boot of Node included. Limits in memory. CPU: for one request.',
    ],
  };
};
