/** Clients violate HTTP and TCP at random. The service under test is a child process. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { packageRoot } from '../../../core/util/package.js';
import { commandArgs } from '../../support/command-process.js';
import { request } from '../../support/http-client.js';
import { freePort } from '../../support/server-process.js';

export interface FuzzedService {
  readonly port: number;
  readonly metricsPort: number;
  log(): string;
  isRunning(): boolean;
  stop(): Promise<{ readonly ms: number; readonly code: number | null; readonly signal: string | null }>;
  remove(): Promise<void>;
}

export const DRAIN_DELAY_MS = 200;

export const startFuzzedService = async (workers: number, timeoutMs: number): Promise<FuzzedService> => {
  const folder = await mkdtemp(join(tmpdir(), 'metro-forecast-sockets-'));
  const [port, metricsPort] = [await freePort(), await freePort()];
  const path = join(folder, 'config.json');
  const config = {
    server: {
      port,
      workers,
      // All connections come from one address. Trusting a proxy turns off the connection limit per address.
      trustProxy: 1,
      drainDelayMs: DRAIN_DELAY_MS,
      headersTimeoutMs: timeoutMs,
      requestTimeoutMs: timeoutMs,
      stallTimeoutMs: timeoutMs,
      keepAliveTimeoutMs: timeoutMs,
    },
    metrics: { port: metricsPort },
    adapter: { use: 'json', options: { path: join(packageRoot, 'plugins/metro/dataset') } },
    plugins: ['markets', 'forecasts', 'observations', 'signals', 'status', 'docs', 'mcp'],
    auth: { keys: { use: 'memory' }, tiers: { public: { requestsPerMinute: 1_000_000 } }, anonymous: 'public' },
    log: { level: 'warn' },
  };
  await writeFile(path, JSON.stringify(config));
  const child = spawn(process.execPath, commandArgs(['start', '--config', path]), {
    env: { PATH: process.env['PATH'] },
  });
  const exited = once(child, 'exit') as Promise<[number | null, string | null]>;
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (output += chunk));
  const isRunning = (): boolean => child.exitCode === null && child.signalCode === null;
  const remove = async (): Promise<void> => {
    if (isRunning()) child.kill('SIGKILL');
    await exited;
    await rm(folder, { recursive: true, force: true });
  };
  const isReady = (): Promise<boolean> =>
    request(`http://127.0.0.1:${port}/api/v1/ready`).then(
      ({ status }) => status === 200,
      () => false,
    );
  while (!(await isReady())) {
    if (isRunning()) await delay(50);
    else {
      await remove();
      throw new Error(`The service did not start: ${output}`);
    }
  }
  return {
    port,
    metricsPort,
    log: () => output,
    isRunning,
    async stop() {
      const since = performance.now();
      child.kill('SIGTERM');
      const [code, signal] = await exited;
      return { ms: performance.now() - since, code, signal };
    },
    remove,
  };
};

/** The mulberry32 generator. A seed always produces the same connections. */
export const randomFrom = (seed: number): (() => number) => {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
};

const METHODS = [
  'GET',
  'GET',
  'HEAD',
  'OPTIONS',
  'POST',
  'CONNECT',
  'TRACE',
  'PRI',
  'get',
  'connect',
  'M-SEARCH',
  'XYZ',
];
const TARGETS = [
  '/api/v1/markets',
  '/api/v1/markets/26420',
  '/api/v1/observations?series_id=metro_hpi',
  '/api/v1/openapi.json',
  '/api/v1/health',
  '/mcp',
  '/docs',
  '/metrics',
  '*',
  'example.com:443',
  'http://example.com/api/v1/status',
  '/%',
];
const FIELDS = [
  'Host: a',
  'Host: a',
  'Host: a',
  'Connection: close',
  'Connection: keep-alive',
  'Connection: Upgrade\r\nUpgrade: websocket',
  'Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABk',
  'Expect: 100-continue',
  'Expect: 200-maybe',
  'Transfer-Encoding: chunked',
  'Content-Length: 10',
  'Content-Length: 100000',
  'Content-Type: application/json',
  'Accept-Encoding: gzip',
  ` folded`,
  `X: ${'x'.repeat(20_000)}`,
];
const ENDS = [' HTTP/1.1\r\n', ' HTTP/1.1\r\n', ' HTTP/1.1\r\n', ' HTTP/1.0\r\n', ' HTTP/2.0\r\n', '\r\n'];
const PREFACE = 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0';
const BODIES = ['', '', '{"a":1}\r\n\r\n', '5\r\nhello\r\n0\r\n\r\n', 'ffffffffffffffffff\r\n', '\0\xff\r\n\r\n'];

type Random = () => number;

const pick = <T>(random: Random, from: readonly T[]): T => from[Math.floor(random() * from.length)]!;

const requestBytes = (random: Random): string => {
  if (random() < 0.03) return PREFACE;
  const fields = Array.from({ length: 1 + Math.floor(random() * 4) }, () => pick(random, FIELDS));
  const line = `${pick(random, METHODS)} ${pick(random, TARGETS)}${pick(random, ENDS)}`;
  return `${line}${fields.join('\r\n')}\r\n\r\n${pick(random, BODIES)}`;
};

interface Script {
  readonly pieces: readonly string[];
  readonly pauseMs: number;
  readonly reads: boolean;
  readonly end: 'reset' | 'destroy' | 'half-close' | 'stay';
  readonly endAfterMs: number;
}

const scriptOf = (random: Random): Script => {
  let bytes = '';
  for (let count = 1 + Math.floor(random() * 3); count > 0; count--) bytes += requestBytes(random);
  if (random() < 0.5) bytes = bytes.slice(0, Math.floor(random() * bytes.length));
  const cut = Math.floor(random() * bytes.length);
  return {
    pieces: random() < 0.5 ? [bytes] : [bytes.slice(0, cut), bytes.slice(cut)],
    pauseMs: Math.floor(random() * 5),
    reads: random() < 0.8,
    end: pick(random, ['reset', 'reset', 'destroy', 'half-close', 'half-close', 'stay'] as const),
    endAfterMs: Math.floor(random() * random() * 40),
  };
};

const perform = async (socket: Socket, script: Script): Promise<void> => {
  if (script.reads) socket.resume();
  for (const piece of script.pieces) {
    if (piece) socket.write(piece, 'latin1');
    await delay(script.pauseMs);
  }
  await delay(script.endAfterMs);
  if (script.end === 'reset') socket.resetAndDestroy();
  else if (script.end === 'destroy') socket.destroy();
  else if (script.end === 'half-close') socket.end();
};

const CONCURRENT = 64;

export const fuzz = async (ports: readonly number[], count: number, seed: number): Promise<ReadonlySet<Socket>> => {
  const random = randomFrom(seed);
  const open = new Set<Socket>();
  let started = 0;
  const run = async (): Promise<void> => {
    while (started < count) {
      const port = ports[started++ % ports.length]!;
      const script = scriptOf(random);
      const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true });
      open.add(socket);
      socket.on('error', () => undefined).on('close', () => open.delete(socket));
      await once(socket, 'connect').then(
        () => perform(socket, script),
        () => undefined,
      );
    }
  };
  await Promise.all(Array.from({ length: CONCURRENT }, run));
  return open;
};

/** Counts the open sockets on this port in `/proc/net`, without listening sockets. */
export const socketsOf = (port: number): number => {
  const local = port.toString(16).toUpperCase().padStart(4, '0');
  return ['/proc/net/tcp', '/proc/net/tcp6'].flatMap((file) =>
    readFileSync(file, 'utf8')
      .split('\n')
      .slice(1)
      .map((line) => line.trim().split(/\s+/))
      // Field 1 is the local address. Field 3 is the state, where 0A means listening. Field 9 is the inode, which is 0
      // when no process holds the socket.
      .filter((fields) => fields[1]?.endsWith(`:${local}`) && fields[3] !== '0A' && fields[9] !== '0'),
  ).length;
};
