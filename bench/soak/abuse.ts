/**
 * `npm run abuse`: mixed abuse beside one caller within its limit. It fails where that caller waits more than twice as long
 * as without the abuse at the 99th percentile, gets a 5xx, or where the server's memory grows by more than 64 MB.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { Agent } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Command } from 'commander';
import { packageRoot } from '../../core/util/package.js';
import { newKey } from '../../test/support/key-record.js';
import { startRedis } from '../../test/support/services.js';
import { bindToCore, LOAD_CORE, runPinned, SERVER_CORE, stayOnLoadCore } from '../pinned-process.js';
import { BASE } from '../service.js';
import { percentile } from '../statistics.js';
import { repeat, type Sent, send } from './send.js';
import { startSoakedServer, writeSoakConfig } from './server.js';

const CALLER_PER_SECOND = 20;
const WORK_MS = 20_000;
const MOST_GROWTH_MB = 64;
const MOST_SLOWER = 2;
const ABUSERS = [process.execPath, fileURLToPath(new URL('abusers.js', import.meta.url))];

/** The caller's connections: few, as those of a program. */
const agent = new Agent({ keepAlive: true, maxSockets: 4 });

const mb = (bytes: number): number => bytes / 2 ** 20;

/** What services do all day: the caches fill, and the heap takes the size that it has under load. */
const work = async (port: number, key: string): Promise<void> => {
  const headers = { Authorization: `Bearer ${key}`, 'Accept-Encoding': 'br' };
  const paths = [
    '/markets',
    '/markets/26420',
    '/markets?state=TX',
    '/markets/26420/history',
    '/status',
    '/openapi.json',
  ];
  const until = performance.now() + WORK_MS;
  const callers = Array.from({ length: 16 }, async (_, i) => {
    for (let at = i; performance.now() < until; at++) await send(port, BASE + paths[at % paths.length], headers);
  });
  await Promise.all(callers);
};

const measure = async (port: number, key: string, seconds: number) => {
  const sent: Sent[] = [];
  await repeat(CALLER_PER_SECOND, seconds * 1000, async () => {
    sent.push(await send(port, `${BASE}/markets`, { Authorization: `Bearer ${key}` }, undefined, agent));
  });
  const times = sent.map(({ ms }) => ms);
  const wrong = sent.filter(({ status }) => status !== 200).map(({ status }) => status);
  return { p50: percentile(times, 0.5), p99: percentile(times, 0.99), requests: sent.length, wrong };
};

const run = async ({ seconds }: { seconds: string }): Promise<void> => {
  stayOnLoadCore();
  const folder = await mkdtemp(join(tmpdir(), 'abuse-'));
  const redis = await startRedis();
  try {
    const own = newKey({ limit_per_minute: 2 * 60 * CALLER_PER_SECOND });
    const other = newKey({ limit_per_minute: 600 });
    const busy = newKey({ limit_per_minute: 1_000_000 });
    const config = await writeSoakConfig({
      folder,
      adapter: { use: 'json', options: { path: join(packageRoot, 'plugins/metro/dataset') } },
      redis: redis.url,
      keys: [own.record, other.record, busy.record],
      level: 'warn',
      more: { server: { trustProxy: 1 }, plugins: ['markets', 'status', 'docs', 'mcp'] },
    });
    const server = await startSoakedServer(config);
    bindToCore(SERVER_CORE, server.pid);
    try {
      await work(server.port, busy.key);
      const quiet = await measure(server.port, own.key, Math.min(30, Number(seconds) / 3));
      const before = await server.holdings();
      const abusers = runPinned(LOAD_CORE, ['nice', '-n', '10', ...ABUSERS, String(server.port), other.key, seconds]);
      const abused = await measure(server.port, own.key, Number(seconds));
      const addresses = Number(await abusers);
      const after = await server.holdings();
      const growthMb = mb(after.rss - before.rss);
      const liveHeapGrowthMb = mb(after.heapUsed - before.heapUsed);
      const figures = { quiet, abused, addresses, memoryMb: mb(before.rss), growthMb, liveHeapGrowthMb };
      process.stdout.write(`${JSON.stringify(figures, null, 2)}\n`);
      const faults = [
        abused.p99 > MOST_SLOWER * quiet.p99 && 'the caller waited more than twice as long',
        abused.wrong.length > 0 && 'the caller got something other than 200',
        growthMb > MOST_GROWTH_MB && 'memory has grown by more than 64 MB',
      ].filter((fault) => fault !== false);
      for (const fault of faults) process.stderr.write(`FAILED: ${fault}\n`);
      if (faults.length > 0) process.exitCode = 1;
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
  .description('Mixed abuse beside a caller within its limit.')
  .option('--seconds <n>', 'how long', '600')
  .action(run)
  .parseAsync();
