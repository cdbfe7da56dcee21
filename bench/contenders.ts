import { mkdtemp } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { packageRoot } from '../core/util/package.js';
import { type Bench, catalogue } from './bench.js';
import type { ServerCommand } from './server.js';
import { BASE, json, startCommand, writeConfig } from './service.js';

export const SERVICE = 'Metro Forecast API';
export const OTHER = `${SERVICE}, the other version`;
export const FASTIFY = 'Fastify, same features';
export const KOA = 'Koa, same features';
export const EXPRESS = 'Express, same features';
/**
 * A bare Node server sends prepared bytes without checking keys or limits. Its speed is an upper bound for any server
 * on Node.
 */
export const BARE = 'node:http';

const PROGRAMS: Readonly<Record<string, string>> = {
  [FASTIFY]: 'fastify.js',
  [KOA]: 'koa.js',
  [EXPRESS]: 'express.js',
  [BARE]: 'node-http.js',
};

export const answersFile = ({ folder }: Bench): string => join(folder, 'answers.json');

export const commandOf = async (name: string, bench: Bench, redis: string): Promise<ServerCommand> => {
  const probe = `${BASE}/markets/${catalogue.cbsas[0]}`;
  const program = PROGRAMS[name];
  if (program) {
    const options = { answers: answersFile(bench), limits: bench.limits, redis };
    const command = [process.execPath, join(packageRoot, 'bench/contenders', program), JSON.stringify(options)];
    return { command, probe, key: bench.hugeKey };
  }
  const folder = await mkdtemp(join(bench.folder, 'service-'));
  const config = await writeConfig({ folder, adapter: json(bench.dataset), redis, keys: bench.records });
  const checkout = name === OTHER ? resolve(bench.against!) : packageRoot;
  return { command: await startCommand(config, { checkout }), probe, key: bench.hugeKey };
};
