/** Who takes part, and where each of them has the three answers. */
import { existsSync } from 'node:fs';
import { mkdtemp, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { hashKey } from '../core/keys/key.js';
import { packageRoot } from '../core/util/package.js';
import { freePort } from '../test/support/server-process.js';
import { answersFile } from './answers.js';
import type { Bench } from './bench.js';
import { datasetteCommand, roapiCommand } from './python-contenders.js';
import type { ServerCommand } from './server.js';
import { BASE, json, limitsOf, type ServiceOptions, serviceCommand } from './service.js';

export const ROUTES = ['market', 'list', 'history'] as const;
export type Route = (typeof ROUTES)[number];

export const ROUTE_TITLES: Readonly<Record<Route, string>> = {
  market: 'One market',
  list: 'List of 410 markets',
  history: 'History of one market',
};

export interface Contender {
  readonly name: string;
  readonly features: string;
  /** Undefined where it cannot run here; it has said why. */
  command(bench: Bench): Promise<ServerCommand | undefined>;
  path(route: Route, cbsa: string): string;
  /** Its answer as the service would have it. */
  normalise(route: Route, body: unknown): unknown;
}

export const SERVICE = 'Metro Forecast API';
export const BARE = 'node:http';
/** What a round trip to Redis costs at the least in a server of Node. */
export const PINGING = 'node:http, a PING first';
/** Fastify with what the service does, by its own plugins: what it is measured against. */
export const FASTIFY = 'Fastify, same features';
export const FASTIFY_LIMITS = 'Fastify, keys and limits';
export const KOA = 'Koa, same features';
export const EXPRESS = 'Express, same features';
/** The service with limits that no other replica shares. */
export const IN_MEMORY = `${SERVICE}, limits in memory`;
/** The version in the folder that `--against` names. */
export const OTHER = `${SERVICE}, the other version`;

/** Where the service has it. */
export const pathOf = (route: Route, cbsa: string): string =>
  ({ market: `${BASE}/markets/${cbsa}`, list: `${BASE}/markets`, history: `${BASE}/markets/${cbsa}/history` })[route];

const asItIs = (_route: Route, body: unknown): unknown => body;

/** A program of `contenders/`, told what to do by its argument. */
const nodeContender = (
  name: string,
  program: string,
  features: string,
  { everything = false, pings = false } = {},
): Contender => ({
  name,
  features,
  path: pathOf,
  normalise: asItIs,
  command: async (bench) => {
    const folder = await mkdtemp(join(bench.folder, 'contender-'));
    const keys = join(folder, 'keys.json');
    await writeFile(
      keys,
      JSON.stringify(Object.fromEntries(limitsOf(bench).map(([key, limit]) => [hashKey(key), limit]))),
    );
    const orders = { answers: answersFile(bench), keys, redis: bench.redis, everything, pings };
    return {
      command: [process.execPath, join(packageRoot, 'bench/contenders', program), JSON.stringify(orders)],
      probe: pathOf('market', bench.cbsa),
      key: bench.key,
    };
  },
});

/** Rows of a table, which is what a server of tables answers. */
const fromRows = (route: Route, rows: readonly object[]): unknown => (route === 'market' ? rows[0] : { data: rows });

/** What ROAPI leaves out where there is no value. */
const NULLS = { signal: null, risk_score: null, yoy_price: null, forecast_12m: null };

const WITHOUT_SCHEMAS = 'keys, limits on Redis, ETags, compression, CORS, security headers, ids, JSON log, metrics';
const FEATURES = `schemas, ${WITHOUT_SCHEMAS}`;
const PREPARED = 'none: prepared bytes';

const service = (name: string, options: Partial<ServiceOptions> = {}): Contender => ({
  name,
  features: FEATURES,
  path: pathOf,
  normalise: asItIs,
  command: (bench) => serviceCommand(bench, { adapter: json(bench.dataset), limiter: 'redis', ...options }),
});

const all: readonly Contender[] = [
  service(SERVICE),
  service(IN_MEMORY, { limiter: 'memory' }),
  nodeContender(BARE, 'node-http.js', PREPARED),
  nodeContender(PINGING, 'node-http.js', PREPARED, { pings: true }),
  nodeContender('Koa, prepared', 'koa-prepared.js', PREPARED),
  nodeContender(FASTIFY, 'fastify.js', FEATURES, { everything: true }),
  nodeContender(FASTIFY_LIMITS, 'fastify.js', 'schemas, keys, limits on Redis'),
  nodeContender(KOA, 'koa.js', WITHOUT_SCHEMAS),
  nodeContender(EXPRESS, 'express.js', WITHOUT_SCHEMAS),
  {
    ...nodeContender('json-server', 'json-server.js', 'router'),
    path: (route, cbsa) => (route === 'history' ? `${BASE}/history/${cbsa}` : pathOf(route, cbsa)),
    normalise: (route, body) =>
      route === 'list' ? { data: body } : route === 'history' ? { data: (body as { data: unknown }).data } : body,
  },
  {
    name: 'ROAPI',
    features: 'none',
    path: (route, cbsa) =>
      ({
        market: `/api/tables/markets?filter[cbsa]='${cbsa}'`,
        list: '/api/tables/markets?limit=1000&sort=cbsa',
        history: `/api/tables/hpi?columns=period_start,value&filter[cbsa]='${cbsa}'&sort=period_start&limit=1000`,
      })[route],
    normalise: (route, body) => {
      const rows = body as readonly object[];
      return fromRows(route, route === 'history' ? rows : rows.map((row) => ({ ...NULLS, ...row })));
    },
    command: async (bench) => roapiCommand(bench, await freePort()),
  },
  {
    name: 'Datasette',
    features: 'none',
    path: (route, cbsa) =>
      ({
        market: `/bench/markets/${cbsa}.json?_shape=array`,
        list: '/bench/markets.json?_shape=array&_size=max&_nocount=1&_nofacet=1',
        history: `/bench/hpi.json?_shape=array&_size=max&_nocount=1&_nofacet=1&cbsa=${cbsa}`,
      })[route],
    normalise: (route, body) => {
      const rows = body as readonly Record<string, unknown>[];
      const observations = rows.map(({ period_start, value }) => ({ period_start, value }));
      return fromRows(route, route === 'history' ? observations : rows);
    },
    command: async (bench) => datasetteCommand(bench, await freePort()),
  },
];

/** With another version after the first, which is the service, where there is one. */
const withOther = (lineup: readonly Contender[], against: string | undefined): readonly Contender[] =>
  against === undefined ? lineup : lineup.toSpliced(1, 0, service(OTHER, { checkout: resolve(against) }));

/** @param against the folder of another version, installed and built */
export const chosen = (names: readonly string[], against?: string): readonly Contender[] =>
  withOther(
    names.map((name) => all.find((contender) => contender.name === name)!),
    against,
  );

const VARIANTS: readonly string[] = [IN_MEMORY, FASTIFY_LIMITS, PINGING];

/** Everybody who has the three answers, but for variants of the same program. */
export const everybody = (against?: string): readonly Contender[] =>
  withOther(
    all.filter(({ name }) => !VARIANTS.includes(name)),
    against,
  );

/** Whether the packages of the contenders written for Node are installed. */
export const packagesInstalled = (): boolean => existsSync(join(packageRoot, 'bench/node_modules/fastify'));
