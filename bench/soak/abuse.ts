/**
 * `npm run abuse` measures a caller within its limit while other callers attack the service. The run fails if the
 * caller gets any status other than 200, or if the memory of the server grows by more than 64 MiB. It also fails if the
 * caller's 99th percentile latency exceeds both 15 ms and three times the value without attacks.
 */
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Command } from 'commander';
import { newKey } from '../../test/support/key-record.js';
import { repeat, send } from '../client.js';
import { marketCodes, writeDataset } from '../dataset.js';
import { runLoad, stayOnLoadCore } from '../process.js';
import { BASE, bearer, json } from '../service.js';
import { percentile } from '../statistics.js';
import type { Cell } from '../table.js';
import { conclude } from './verdict.js';
import { type WatchedServer, withWatched } from './watched.js';

const ATTACKS = ['malformed', 'expensive', 'bursts'] as const;
export type AttackName = (typeof ATTACKS)[number];

/** A separate process sends the attacks, so that they do not delay the measured caller. */
const ATTACKER = ['nice', '-n', '10', process.execPath, fileURLToPath(new URL('attacks.js', import.meta.url))];
const ATTACKERS = 5;
const CALLER_PER_SECOND = 20;
const WARM_UP_SECONDS = 20;
const MAX_SLOWER = 3;
const MAX_P99_MS = 15;
const MAX_GROWTH_MIB = 64;
const PLUGINS = ['markets', 'forecasts', 'observations', 'signals', 'status', 'docs', 'mcp'];

const [code] = marketCodes();
const CACHED = ['/markets', `/markets/${code}`, `/markets/${code}/history`, '/series'];

const measure = async (port: number, key: string, seconds: number) => {
  const times: number[] = [];
  let others = 0;
  await repeat(CALLER_PER_SECOND, seconds, async () => {
    const started = performance.now();
    const path = BASE + CACHED[times.length % CACHED.length];
    const { status } = await send(port, { path, headers: { Authorization: bearer(key) } });
    times.push(performance.now() - started);
    if (status !== 200) others++;
  });
  const [p50, p99, max] = [0.5, 0.99, 1].map((fraction) => percentile(times, fraction)) as [number, number, number];
  return { p99, others, cells: [times.length, others, p50, p99, max] };
};

const attack = (name: AttackName, port: number, keys: readonly string[], seconds: number): Promise<string> =>
  runLoad([...ATTACKER, name, String(port), keys.join(), String(seconds)]);

const compare = async (server: WatchedServer, own: string, keys: readonly string[], seconds: number): Promise<void> => {
  const { port } = server;
  await Promise.all(ATTACKS.map((name) => attack(name, port, keys, Math.min(WARM_UP_SECONDS, seconds))));
  const before = await server.holdings();
  const quiet = await measure(port, own, seconds);
  const rows: Cell[][] = [['none', ...quiet.cells, '']];
  const failures: string[] = [];
  const maxP99 = Math.max(MAX_SLOWER * quiet.p99, MAX_P99_MS);
  for (const name of ATTACKS) {
    const attacking = attack(name, port, keys, seconds);
    const [{ p99, others, cells }, statuses] = await Promise.all([measure(port, own, seconds), attacking]);
    rows.push([name, ...cells, statuses]);
    if (others > 0) failures.push(`${name}: the caller got ${others} responses other than 200`);
    if (p99 > maxP99) failures.push(`${name}: p99 ${p99.toFixed(1)} ms, above ${maxP99.toFixed(1)} ms`);
  }
  const growth = ((await server.holdings()).rss - before.rss) / 2 ** 20;
  if (growth > MAX_GROWTH_MIB) failures.push(`memory grew by ${growth.toFixed(0)} MiB`);
  const title = `A caller during attacks; memory grew by ${growth.toFixed(0)} MiB`;
  const columns = ['attack', 'requests', 'not 200', 'p50, ms', 'p99, ms', 'max, ms', 'responses to attackers'];
  conclude([{ title, columns, rows }], failures);
};

const run = async ({ seconds }: { seconds: string }): Promise<void> => {
  stayOnLoadCore();
  const own = newKey({ limit_per_minute: 2 * 60 * CALLER_PER_SECOND });
  const attackers = Array.from({ length: ATTACKERS }, () => newKey({ limit_per_minute: 600 }));
  const more = {
    ...{ server: { port: 0, trustProxy: 1 }, plugins: PLUGINS },
    log: { level: 'warn', format: 'json' },
  };
  const setUp = async (folder: string) => {
    await writeDataset(join(folder, 'dataset'));
    return json(join(folder, 'dataset'));
  };
  await withWatched({ keys: [own, ...attackers].map(({ record }) => record), more }, setUp, async (_config, start) => {
    const keys = attackers.map(({ key }) => key);
    await compare(await start(), own.key, keys, Number(seconds) / (ATTACKS.length + 1));
  });
};

await new Command('abuse')
  .description('Measures a caller that stays within its limit while others attack the service.')
  .option('--seconds <n>', 'total duration of all measurements', '600')
  .action(run)
  .parseAsync();
