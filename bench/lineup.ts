/** Starts contenders beside each other and makes sure that all answer alike before any is measured. */
import { isDeepStrictEqual } from 'node:util';
import type { Server } from '../test/support/services.js';
import { type Answers, readAnswers, writeAnswers } from './answers.js';
import { type Bench, startBenchRedis } from './bench.js';
import { type Contender, pathOf, ROUTES, type Route } from './contenders.js';
import { type RunningServer, startServer } from './server.js';

export interface Entrant {
  readonly contender: Contender;
  readonly server: RunningServer;
  /** The URL of its own Redis: what one contender leaves behind is not measured with another. */
  readonly redis: string;
  url(route: Route): string;
}

const bodyOf = async ({ contender, url }: Entrant, route: Route, key: string): Promise<unknown> => {
  const response = await fetch(url(route), { headers: { Authorization: `Bearer ${key}`, Accept: 'application/json' } });
  if (!response.ok) throw new Error(`${contender.name} answers ${response.status} at ${url(route)}`);
  return contender.normalise(route, await response.json());
};

/** @throws where the bodies differ */
export const assertAlike = (who: string, where: string, actual: unknown, expected: unknown): void => {
  if (isDeepStrictEqual(actual, expected)) return;
  const excerpt = (data: unknown) => JSON.stringify(data)?.slice(0, 300);
  throw new Error(`${who} answers otherwise than it should at ${where}:\n  ${excerpt(actual)}\n  ${excerpt(expected)}`);
};

const assertAllAlike = async (entrants: readonly Entrant[], answers: Answers, { key, cbsa }: Bench): Promise<void> => {
  for (const route of ROUTES) {
    for (const entrant of entrants) {
      const expected = answers.get(pathOf(route, cbsa))?.body;
      assertAlike(entrant.contender.name, entrant.url(route), await bodyOf(entrant, route, key), expected);
    }
  }
};

/** Runs `use` with every contender that can run here, each with a Redis of its own, and ends them all. */
export const withLineup = async <T>(
  bench: Bench,
  contenders: readonly Contender[],
  use: (entrants: readonly Entrant[]) => Promise<T>,
): Promise<T> => {
  await writeAnswers(bench);
  const stores: Server[] = [];
  const entrants: Entrant[] = [];
  try {
    for (const contender of contenders) {
      const redis = await startBenchRedis();
      stores.push(redis);
      const command = await contender.command({ ...bench, redis: redis.url });
      if (!command) continue;
      const server = await startServer(command);
      const url = (route: Route): string => server.origin + contender.path(route, bench.cbsa);
      entrants.push({ contender, server, redis: redis.url, url });
    }
    await assertAllAlike(entrants, await readAnswers(bench), bench);
    return await use(entrants);
  } finally {
    await Promise.all(entrants.map(({ server }) => server.stop()));
    await Promise.all(stores.map((redis) => redis.stop()));
  }
};
