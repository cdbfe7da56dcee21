/** A probe in the service process reports its memory, descriptors and listeners. */
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startBoundRedis } from '../process.js';
import { type RunningServer, startServer } from '../server.js';
import { BASE, type ServiceOptions, startCommand, writeConfig } from '../service.js';
import type { Holdings } from './probe.js';

const PROBE = new URL('probe.js', import.meta.url).href;

export interface WatchedServer extends RunningServer {
  holdings(): Promise<Holdings>;
}

const startWatched = async (config: string): Promise<WatchedServer> => {
  const command = await startCommand(config, { nodeOptions: ['--expose-gc', '--import', PROBE] });
  const server = await startServer({ command, probe: `${BASE}/health`, key: '', watched: true });
  return {
    ...server,
    async holdings() {
      server.process.send('holdings');
      const [message] = (await Promise.race([once(server.process, 'message'), server.exited])) as [Holdings];
      return message;
    },
  };
};

export const withWatched = async <T>(
  options: Pick<ServiceOptions, 'keys' | 'more'>,
  setUp: (folder: string) => Promise<ServiceOptions['adapter']>,
  use: (config: string, start: () => Promise<WatchedServer>) => Promise<T>,
): Promise<T> => {
  const folder = await mkdtemp(join(tmpdir(), 'metro-forecast-soak-'));
  const redis = await startBoundRedis();
  let server: WatchedServer | undefined;
  try {
    const config = await writeConfig({ ...options, folder, redis: redis.url, adapter: await setUp(folder) });
    const result = await use(config, async () => {
      server = await startWatched(config);
      return server;
    });
    await server?.stop();
    return result;
  } finally {
    server?.process.kill('SIGKILL');
    await redis.stop();
    await rm(folder, { recursive: true, force: true });
  }
};
