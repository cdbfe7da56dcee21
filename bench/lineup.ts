/** Starts contenders beside each other and makes sure that all answer alike before any is measured. */
import { isDeepStrictEqual } from 'node:util';
import type { Bench } from './bench.js';
import { type Contender, ROUTES, type Route } from './contenders.js';
import { type RunningServer, startServer } from './server.js';

export interface Entrant {
  readonly contender: Contender;
  readonly server: RunningServer;
  url(route: Route): string;
}

const answerOf = async ({ contender, url }: Entrant, route: Route, key: string): Promise<unknown> => {
  const response = await fetch(url(route), { headers: { Authorization: `Bearer ${key}`, Accept: 'application/json' } });
  if (!response.ok) throw new Error(`${contender.name} answers ${response.status} at ${url(route)}`);
  return contender.normalise(route, await response.json());
};

/** @throws naming the first contender that answers otherwise than the first one does */
const assertAlike = async (entrants: readonly Entrant[], key: string): Promise<void> => {
  for (const route of ROUTES) {
    const expected = await answerOf(entrants[0]!, route, key);
    for (const entrant of entrants.slice(1)) {
      const answer = await answerOf(entrant, route, key);
      if (!isDeepStrictEqual(answer, expected)) {
        const excerpt = (data: unknown) => JSON.stringify(data).slice(0, 300);
        throw new Error(
          `${entrant.contender.name} answers otherwise than ${entrants[0]!.contender.name} at ${entrant.url(route)}:\n` +
            `  ${excerpt(answer)}\n  ${excerpt(expected)}`,
        );
      }
    }
  }
};

/** Runs `use` with every contender that can run here, and ends them all. */
export const withLineup = async <T>(
  bench: Bench,
  contenders: readonly Contender[],
  use: (entrants: readonly Entrant[]) => Promise<T>,
): Promise<T> => {
  const entrants: Entrant[] = [];
  try {
    for (const contender of contenders) {
      const command = await contender.command(bench);
      if (!command) continue;
      const server = await startServer(command);
      entrants.push({ contender, server, url: (route) => server.origin + contender.path(route, bench.cbsa) });
    }
    await assertAlike(entrants, bench.key);
    return await use(entrants);
  } finally {
    await Promise.all(entrants.map(({ server }) => server.stop()));
  }
};
