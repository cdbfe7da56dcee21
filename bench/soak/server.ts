/** The server under test, in a process of its own, with real stores. It reports its memory and handles. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { KeyRecord } from '../../core/contracts/keys.js';
import { formatKeyFile } from '../../core/keys/key-file.js';
import { packageRoot } from '../../core/util/package.js';
import { freePort } from '../../test/support/server-process.js';
import { BASE } from '../service.js';
import type { Holdings } from './probe.js';

export interface SoakedServer {
  readonly port: number;
  readonly pid: number;
  /** Its metrics, as Prometheus reads them. */
  scrape(): Promise<string>;
  holdings(): Promise<Holdings>;
  /** Shuts it down. Rejects unless it exits with 0. */
  stop(): Promise<void>;
  kill(): void;
}

export interface SoakConfig {
  readonly folder: string;
  readonly adapter: object;
  readonly redis: string;
  readonly keys: readonly KeyRecord[];
  readonly level: 'info' | 'warn';
  /** Sections that replace others. */
  readonly more?: Readonly<Record<string, unknown>>;
}

/** A configuration with all features, and defaults for the rest. */
export const writeSoakConfig = async ({ folder, adapter, redis, keys, level, more }: SoakConfig): Promise<string> => {
  await writeFile(join(folder, 'keys.json'), formatKeyFile(keys));
  const path = join(folder, `config-${level}.json`);
  const config = {
    adapter,
    plugins: ['markets', 'forecasts', 'observations', 'signals', 'status', 'docs', 'explore'],
    auth: { keys: { use: 'file', options: { path: 'keys.json' } } },
    redis: { url: redis },
    metrics: { port: await freePort() },
    log: { level, format: 'json' },
    ...more,
  };
  await writeFile(path, JSON.stringify(config));
  return path;
};

const START_TIMEOUT_MS = 60_000;
const PROGRAM = join(packageRoot, 'cli/metro-forecast.js');
const PROBE = new URL('probe.js', import.meta.url).href;

export const startSoakedServer = async (config: string): Promise<SoakedServer> => {
  const port = await freePort();
  const { metrics } = JSON.parse(await readFile(config, 'utf8')) as { metrics: { port: number } };
  // The log is written and discarded. The probe reports Node's warnings.
  const child = spawn(process.execPath, ['--expose-gc', '--import', PROBE, PROGRAM, 'start', '--config', config], {
    env: { PATH: process.env['PATH'], PORT: String(port), NODE_ENV: 'production' },
    stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
  });
  let errors = '';
  child.stderr!.setEncoding('utf8').on('data', (text: string) => {
    errors = (errors + text).slice(-2000);
  });
  const gone = once(child, 'exit') as Promise<[number | null, NodeJS.Signals | null]>;
  await ready(child, `http://127.0.0.1:${port}${BASE}/health`).catch((cause: unknown) => {
    child.kill('SIGKILL');
    throw new Error(`The server did not start with ${config}. ${errors}`, { cause });
  });
  return {
    port,
    pid: child.pid!,
    scrape: async () => (await fetch(`http://127.0.0.1:${metrics.port}/metrics`)).text(),
    async holdings() {
      child.send('holdings');
      const [answer] = (await Promise.race([once(child, 'message'), gone])) as [unknown];
      if (typeof answer !== 'object' || answer === null) throw new Error(`The server has died (${answer}).`);
      return answer as Holdings;
    },
    async stop() {
      child.kill('SIGTERM');
      const [code, signal] = await gone;
      if (code !== 0) throw new Error(`The server ended with ${code ?? signal} instead of 0.`);
    },
    kill: () => void child.kill('SIGKILL'),
  };
};

const ready = async (child: ChildProcess, url: string): Promise<void> => {
  const since = performance.now();
  for (;;) {
    if (child.exitCode !== null) throw new Error(`It exited with ${child.exitCode}.`);
    if (performance.now() - since > START_TIMEOUT_MS) throw new Error(`It does not answer at ${url}.`);
    const answer = await fetch(url).catch(() => null);
    await answer?.arrayBuffer();
    if (answer?.ok) return;
    await delay(25);
  }
};
