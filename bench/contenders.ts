/** The servers that are compared, and the commands that start them. */
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
/** An upper bound for the speed of any server on Node. Sends prepared bytes and checks neither keys nor limits. */
export const BARE = 'node:http';

const PROGRAMS: Readonly<Record<string, string>> = {
  [FASTIFY]: 'fastify.js',
  [KOA]: 'koa.js',
  [EXPRESS]: 'express.js',
  [BARE]: 'node-http.js',
};

/**
 * A JSON file with recorded responses of the service. The other contenders serve these responses, and are checked
 * against them.
 */
export const answersFile = ({ folder }: Bench): string => join(folder, 'answers.json');

/** @param redis the URL of a Redis server that only this contender uses */
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
