import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { packageRoot } from '../../core/util/package.js';
import { nginx } from './binaries.js';
import { request } from './http-client.js';
import { type Server, startServer } from './server-process.js';

const shipped = join(packageRoot, 'config/deploy/nginx.conf');

const replaceAll = (text: string, from: string, to: string): string => {
  if (!text.includes(from)) throw new Error(`${shipped} does not contain "${from}".`);
  return text.replaceAll(from, to);
};

export const startNginx = async (ports: readonly number[]): Promise<Server> =>
  startServer({
    name: 'nginx',
    program: await nginx(),
    args: (port, folder) => {
      let text = replaceAll(readFileSync(shipped, 'utf8'), 'listen 8080', `listen 127.0.0.1:${port}`);
      text = replaceAll(text, '/tmp/nginx', folder);
      for (const [i, replica] of ports.entries()) {
        text = replaceAll(text, `replica-${i + 1}:8080`, `127.0.0.1:${replica}`);
      }
      const file = join(folder, 'nginx.conf');
      mkdirSync(folder, { recursive: true });
      writeFileSync(file, text);
      // As a single process, nginx leaves no workers behind when it is killed.
      return ['-p', folder, '-e', 'stderr', '-c', file, '-g', 'daemon off; master_process off;'];
    },
    url: (port) => `http://127.0.0.1:${port}`,
    ready: async (port) => void (await request(`http://127.0.0.1:${port}/`)),
  });
