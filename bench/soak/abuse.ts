/**
 * `npm run abuse`: mixed abuse beside one caller within its limit. It fails where that caller waits more than twice as long
 * as without the abuse at the 99th percentile, gets a 5xx, or where the server's memory grows by more than 64 MB.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { Agent, request } from 'node:http';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { Command } from 'commander';
import { packageRoot } from '../../core/files/package.js';
import { createKey } from '../../core/keys/key.js';
import { newKey } from '../../test/support/key-record.js';
import { startRedis } from '../../test/support/services.js';
import { BASE } from '../service.js';
import { startSoakedServer, writeSoakConfig } from './server.js';

const CALLER_PER_SECOND = 20;
/** Each kind of abuse, so often: eight kinds are what a few attackers with one connection each bring. */
const ABUSE_PER_SECOND = 25;
const MOST_GROWTH = 64 * 2 ** 20;
const MOST_SLOWER = 2;

interface Sent {
  readonly status: number;
  readonly ms: number;
}

/** The caller's connections are its own, so that it never waits for those of the abuse. */
const callersAgent = new Agent({ keepAlive: true, maxSockets: 4 });
const abusersAgent = new Agent({ keepAlive: true, maxSockets: 64 });

const send = (
  port: number,
  path: string,
  headers: Record<string, string>,
  body?: string,
  agent = abusersAgent,
): Promise<Sent> =>
  new Promise((resolve) => {
    const since = performance.now();
    const settle = (status: number) => resolve({ status, ms: performance.now() - since });
    const asked = request({ port, path, headers, agent, method: body === undefined ? 'GET' : 'POST' }, (response) => {
      response.resume().once('close', () => settle(response.statusCode ?? 0));
    });
    asked.once('error', () => settle(0));
    asked.end(body);
  });

/** Sends bytes and reads nothing of the response, or all of it, for a while. */
const sendRaw = (port: number, bytes: string, { reads = true, ms = 1000 } = {}): Promise<void> =>
  new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () => socket.write(bytes));
    if (reads) socket.resume();
    else socket.pause();
    socket.on('error', () => undefined);
    socket.once('close', () => resolve());
    setTimeout(() => socket.destroy(), ms);
  });

let count = 0;
const freshAddress = (): string => {
  count++;
  return `[2001:db8:${(count >> 16).toString(16)}:${(count & 0xffff).toString(16)}::1]:443`;
};

/** The kinds, by name. Each comes from an address of its own, as `X-Forwarded-For` of the proxy before the service has it. */
const kindsOf = (port: number, key: string): Readonly<Record<string, () => Promise<unknown>>> => {
  const from = () => ({ 'X-Forwarded-For': freshAddress() });
  const raw = (path: string, fields = '') =>
    `GET ${BASE}${path} HTTP/1.1\r\nHost: a\r\nX-Forwarded-For: ${freshAddress()}\r\n${fields}\r\n`;
  const call = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'list_markets', arguments: {} } };
  const mcp = { ...{ Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' }, Accept: 'application/json' };
  return {
    batches: () => send(port, '/mcp', { ...mcp, ...from() }, JSON.stringify(new Array(100).fill(call))),
    nesting: () => send(port, '/mcp', { ...mcp, ...from() }, '['.repeat(30_000)),
    'long Accept': () => send(port, `${BASE}/health`, { Accept: 'a/b,'.repeat(3500), ...from() }),
    parameters: () => send(port, `${BASE}/health?${'a&'.repeat(3500)}`, from()),
    'new /64s': () => Promise.all(Array.from({ length: 20 }, () => send(port, `${BASE}/status`, from()))),
    'invalid keys': () => send(port, `${BASE}/markets`, { Authorization: `Bearer ${createKey().key}`, ...from() }),
    upgrades: () => sendRaw(port, raw('/health', 'Connection: Upgrade\r\nUpgrade: h2c\r\n') + raw('/health')),
    'slow readers': () => sendRaw(port, raw('/openapi.json').repeat(20), { reads: false, ms: 5000 }),
  };
};

/** Calls it at a steady rate, whether it has ended before or not. */
const repeat = async (perSecond: number, ms: number, task: () => Promise<unknown>): Promise<void> => {
  const since = performance.now();
  const running: Promise<unknown>[] = [];
  for (let i = 0; performance.now() - since < ms; i++) {
    running.push(task());
    await delay(Math.max(0, since + ((i + 1) * 1000) / perSecond - performance.now()));
  }
  await Promise.all(running);
};

const percentile = (sorted: readonly number[], share: number): number =>
  sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;

const measure = async (port: number, key: string, seconds: number) => {
  const sent: Sent[] = [];
  await repeat(CALLER_PER_SECOND, seconds * 1000, async () => {
    sent.push(await send(port, `${BASE}/markets`, { Authorization: `Bearer ${key}` }, undefined, callersAgent));
  });
  const times = sent.map(({ ms }) => ms).sort((a, b) => a - b);
  const wrong = sent.filter(({ status }) => status !== 200).map(({ status }) => status);
  return { p50: percentile(times, 0.5), p99: percentile(times, 0.99), requests: sent.length, wrong };
};

const run = async ({ seconds }: { seconds: string }): Promise<void> => {
  const folder = await mkdtemp(join(tmpdir(), 'abuse-'));
  const redis = await startRedis();
  try {
    const own = newKey({ limit_per_minute: 2 * 60 * CALLER_PER_SECOND });
    const other = newKey({ limit_per_minute: 600 });
    const config = await writeSoakConfig({
      folder,
      adapter: { use: 'json', options: { path: join(packageRoot, 'dataset') } },
      redis: redis.url,
      keys: [own.record, other.record],
      level: 'warn',
      more: { server: { trustProxy: 1 }, plugins: ['markets', 'status', 'docs', 'mcp'] },
    });
    const server = await startSoakedServer(config);
    try {
      await measure(server.port, own.key, 3);
      const quiet = await measure(server.port, own.key, Math.min(30, Number(seconds) / 3));
      const before = await server.holdings();
      const abuse = Object.entries(kindsOf(server.port, other.key)).map(([, task]) =>
        repeat(ABUSE_PER_SECOND, Number(seconds) * 1000, task),
      );
      const abused = await measure(server.port, own.key, Number(seconds));
      await Promise.all(abuse);
      const { rss } = await server.holdings();
      const figures = { quiet, abused, addresses: count, growthMb: (rss - before.rss) / 2 ** 20 };
      process.stdout.write(`${JSON.stringify(figures, null, 2)}\n`);
      const faults = [
        abused.p99 > MOST_SLOWER * quiet.p99 && 'the caller waited more than twice as long',
        abused.wrong.length > 0 && 'the caller got something other than 200',
        rss - before.rss > MOST_GROWTH && 'memory has grown by more than 64 MB',
      ].filter((fault) => fault !== false);
      for (const fault of faults) process.stderr.write(`FAILED: ${fault}\n`);
      if (faults.length > 0) process.exitCode = 1;
      await server.stop();
    } finally {
      server.kill();
    }
  } finally {
    callersAgent.destroy();
    abusersAgent.destroy();
    await redis.stop();
    await rm(folder, { recursive: true });
  }
};

await new Command('abuse')
  .description('Mixed abuse beside a caller within its limit.')
  .option('--seconds <n>', 'how long', '600')
  .action(run)
  .parseAsync();
