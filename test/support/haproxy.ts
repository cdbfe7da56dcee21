import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { request } from './http-client.js';
import { type Server, startServer } from './server-process.js';

const configuration = (port: number, target: number): string => `
global
  maxconn 4096
defaults
  mode http
  timeout connect 1s
  timeout client 5s
  timeout server 5s
  timeout http-request 5s
frontend clients
  bind 127.0.0.1:${port}
  option forwardfor
  default_backend service
backend service
  server one 127.0.0.1:${target}
`;

export const startHaproxy = (program: string, target: number): Promise<Server> =>
  startServer({
    name: 'haproxy',
    program,
    args(port, folder) {
      const file = join(folder, 'haproxy.cfg');
      mkdirSync(folder, { recursive: true });
      writeFileSync(file, configuration(port, target));
      return ['-db', '-f', file];
    },
    url: (port) => `http://127.0.0.1:${port}`,
    ready: async (port) => void (await request(`http://127.0.0.1:${port}/`)),
  });
