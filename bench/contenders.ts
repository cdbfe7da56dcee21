/** Who takes part, and where each of them has the three answers. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { packageRoot } from '../core/package-root.js';
import { freePort } from '../test/support/server-process.js';
import type { Bench } from './bench.js';
import { datasetteCommand, roapiCommand } from './python-contenders.js';
import type { ServerCommand } from './server.js';
import { BASE, json, serviceCommand } from './service.js';

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
/** Fastify with what the service does, by its own plugins: what it is measured against. */
export const FASTIFY = 'Fastify, same features';

const paths = (route: Route, cbsa: string): string =>
  ({ market: `${BASE}/markets/${cbsa}`, list: `${BASE}/markets`, history: `${BASE}/markets/${cbsa}/history` })[route];

const asItIs = (_route: Route, body: unknown): unknown => body;

/** A program of `contenders/`, told what to do by its argument. */
const nodeContender = (
  name: string,
  program: string,
  features: string,
  limiter: 'none' | 'redis' = 'none',
  { everything = false, ...other }: Partial<Contender> & { readonly everything?: boolean } = {},
): Contender => ({
  name,
  features,
  path: paths,
  normalise: asItIs,
  command: async ({ dataset, key, redis, limit, cbsa }) => ({
    command: [
      process.execPath,
      join(packageRoot, 'bench/contenders', program),
      JSON.stringify({ dataset, key, redis, limit, limiter, everything }),
    ],
    probe: paths('market', cbsa),
    key,
  }),
  ...other,
});

/** Rows of a table, which is what a server of tables answers. */
const fromRows = (route: Route, rows: readonly object[]): unknown => (route === 'market' ? rows[0] : { data: rows });

/** What ROAPI leaves out where there is no value. */
const NULLS = { signal: null, risk_score: null, yoy_price: null, forecast_12m: null };

const FEATURES = 'schemas, keys, limits on Redis, ETags, compression, CORS, security headers, ids, JSON log, metrics';

export const contenders: readonly Contender[] = [
  {
    name: SERVICE,
    features: FEATURES,
    path: paths,
    normalise: asItIs,
    command: (bench) => serviceCommand(bench, { adapter: json(bench.dataset), limiter: 'redis' }),
  },
  nodeContender(BARE, 'node-http.js', 'none: prepared bytes'),
  nodeContender('Koa, prepared', 'koa-prepared.js', 'none: prepared bytes'),
  nodeContender('Koa', 'koa-router.js', 'router'),
  nodeContender(FASTIFY, 'fastify.js', FEATURES, 'redis', { everything: true }),
  nodeContender('Fastify, keys and limits', 'fastify.js', 'schemas, keys, limits on Redis', 'redis'),
  nodeContender('Fastify, keys', 'fastify.js', 'schemas, keys'),
  nodeContender('Express', 'express.js', 'router, keys, limits on Redis', 'redis'),
  nodeContender('json-server', 'json-server.js', 'router', 'none', {
    path: (route, cbsa) => (route === 'history' ? `${BASE}/history/${cbsa}` : paths(route, cbsa)),
    normalise: (route, body) =>
      route === 'list' ? { data: body } : route === 'history' ? { data: (body as { data: unknown }).data } : body,
  }),
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

/** Whether the packages of the contenders written for Node are installed. */
export const packagesInstalled = (): boolean => existsSync(join(packageRoot, 'bench/node_modules/fastify'));
