/**
 * `npm run abuse`: measures a caller within its limit while others attack the service, on a dataset of FHFA's size. Fails
 * if the caller gets anything but 200, waits longer than three times its own time without attacks or 15 ms at the 99th
 * percentile, or if the memory of the server grows by more than 64 MB. The first two hold for attacks by keys within
 * their limits and from new addresses alike.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { Agent } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Command } from 'commander';
import { newKey } from '../../test/support/key-record.js';
import { startRedis } from '../../test/support/services.js';
import { marketCodes, writeDataset } from '../dataset.js';
import { bindToCore, LOAD_CORE, runPinned, SERVER_CORE, stayOnLoadCore } from '../pinned-process.js';
import { BASE } from '../service.js';
import { percentile } from '../statistics.js';
import { ATTACKS } from './attacks.js';
import { repeat, type Sent, send } from './send.js';
import { type SoakedServer, startSoakedServer, writeSoakConfig } from './server.js';

const CALLER_PER_SECOND = 20;
const ATTACKERS = 5;
const WARM_UP_SECONDS = 20;
const MAX_GROWTH_MB = 64;
const MAX_SLOWER = 3;
const MAX_P99_MS = 15;
const ABUSERS = [process.execPath, fileURLToPath(new URL('abusers.js', import.meta.url))];
const KINDS = Object.keys(ATTACKS) as (keyof typeof ATTACKS)[];

/** Few connections, as a program has them. */
const agent = new Agent({ keepAlive: true, maxSockets: 4 });

const [code] = marketCodes(1);
const CACHED = ['/markets', `/markets/${code}`, `/markets/${code}/history`, '/series'];

interface Figures {
  readonly p50: number;
  readonly p99: number;
  readonly max: number;
  readonly requests: number;
  /** How many responses had a status other than 200. */
  readonly other: number;
}

/** Sends cached requests as the measured caller. */
const measure = async (port: number, key: string, seconds: number): Promise<Figures> => {
  const sent: Sent[] = [];
  await repeat(CALLER_PER_SECOND, seconds * 1000, async () => {
    const path = BASE + CACHED[sent.length % CACHED.length];
    sent.push(await send(port, path, { Authorization: `Bearer ${key}` }, undefined, agent));
  });
  const times = sent.map(({ ms }) => ms);
  return {
    p50: percentile(times, 0.5),
    p99: percentile(times, 0.99),
    max: Math.max(...times),
    requests: sent.length,
    other: sent.filter(({ status }) => status !== 200).length,
  };
};

interface Outcome {
  readonly statuses: Readonly<Record<number, number>>;
  readonly addresses: number;
}

const attack = async (kind: keyof typeof ATTACKS, port: number, keys: readonly string[], seconds: number) =>
  JSON.parse(
    await runPinned(LOAD_CORE, ['nice', '-n', '10', ...ABUSERS, kind, String(port), keys.join(), String(seconds)]),
  ) as Outcome;

const row = (name: string, { p50, p99, max, requests, other }: Figures, attackers: string): string =>
  `| ${name} | ${requests} | ${other} | ${p50.toFixed(1)} | ${p99.toFixed(1)} | ${max.toFixed(0)} | ${attackers} |\n`;

const described = ({ statuses }: Outcome): string =>
  Object.entries(statuses)
    .map(([status, count]) => `${count} x ${status === '0' ? 'closed' : status}`)
    .join(', ');

/** Prints the table. @returns what failed */
const compare = async (server: SoakedServer, own: string, keys: readonly string[], seconds: number) => {
  const failures: string[] = [];
  const { port } = server;
  await Promise.all(KINDS.map((kind) => attack(kind, port, keys, WARM_UP_SECONDS)));
  const before = await server.holdings();
  const quiet = await measure(port, own, seconds);
  process.stdout.write('| Attack | Requests | Not 200 | p50 (ms) | p99 (ms) | max (ms) | Responses to attackers |\n');
  process.stdout.write('|---|---|---|---|---|---|---|\n');
  process.stdout.write(row('none', quiet, ''));
  const maxP99 = Math.max(MAX_SLOWER * quiet.p99, MAX_P99_MS);
  for (const kind of KINDS) {
    const attacked = attack(kind, port, keys, seconds);
    const figures = await measure(port, own, seconds);
    process.stdout.write(row(kind, figures, described(await attacked)));
    if (figures.other > 0) failures.push(`${kind}: the caller got ${figures.other} responses other than 200`);
    if (figures.p99 > maxP99) failures.push(`${kind}: p99 ${figures.p99.toFixed(1)} ms, above ${maxP99.toFixed(1)} ms`);
  }
  const growthMb = ((await server.holdings()).rss - before.rss) / 2 ** 20;
  process.stdout.write(`\nMemory: ${(before.rss / 2 ** 20).toFixed(0)} MB, ${growthMb.toFixed(0)} MB more after it.\n`);
  if (growthMb > MAX_GROWTH_MB) failures.push(`memory grew by ${growthMb.toFixed(0)} MB`);
  return failures;
};

const run = async ({ seconds }: { seconds: string }): Promise<void> => {
  stayOnLoadCore();
  const folder = await mkdtemp(join(tmpdir(), 'abuse-'));
  const redis = await startRedis();
  try {
    const own = newKey({ limit_per_minute: 2 * 60 * CALLER_PER_SECOND });
    const attackers = Array.from({ length: ATTACKERS }, () => newKey({ limit_per_minute: 600 }));
    await writeDataset(join(folder, 'dataset'), 1);
    const config = await writeSoakConfig({
      folder,
      adapter: { use: 'json', options: { path: join(folder, 'dataset') } },
      redis: redis.url,
      keys: [own, ...attackers].map(({ record }) => record),
      level: 'warn',
      more: {
        server: { trustProxy: 1 },
        plugins: ['markets', 'forecasts', 'observations', 'signals', 'status', 'docs', 'mcp'],
      },
    });
    const server = await startSoakedServer(config);
    bindToCore(SERVER_CORE, server.pid);
    try {
      const keys = attackers.map(({ key }) => key);
      const failures = await compare(server, own.key, keys, Number(seconds) / (KINDS.length + 1));
      for (const failure of failures) process.stderr.write(`FAILED: ${failure}\n`);
      if (failures.length > 0) process.exitCode = 1;
      await server.stop();
    } finally {
      server.kill();
    }
  } finally {
    agent.destroy();
    await redis.stop();
    await rm(folder, { recursive: true });
  }
};

await new Command('abuse')
  .description('Measures a caller within its limit while others attack the service.')
  .option('--seconds <n>', 'length of all measurements together', '600')
  .action(run)
  .parseAsync();
