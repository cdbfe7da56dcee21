/** Starts the contenders. Checks that all of them return the same responses before they are measured. */
import { existsSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { isDeepStrictEqual } from 'node:util';
import type { Server } from '../test/support/services.js';
import { type Bench, catalogue, say } from './bench.js';
import { answersFile, commandOf, OTHER, SERVICE } from './contenders.js';
import { type DayRequest, dayPaths } from './day.js';
import { startBoundRedis } from './process.js';
import { type RequestList, writeRequests } from './requests.js';
import { type RunningServer, startServer } from './server.js';
import { BASE, bearer } from './service.js';

export interface Entrant {
  readonly name: string;
  readonly server: RunningServer;
  readonly redis: Server;
}

export type Answers = Readonly<Record<string, { readonly status: number; readonly body: unknown }>>;

const withEntrants = async <T>(
  bench: Bench,
  names: readonly string[],
  use: (entrants: readonly Entrant[]) => Promise<T>,
): Promise<T> => {
  const stores: Server[] = [];
  const entrants: Entrant[] = [];
  try {
    for (const name of names) {
      const redis = await startBoundRedis();
      stores.push(redis);
      entrants.push({ name, redis, server: await startServer(await commandOf(name, bench, redis.url)) });
    }
    return await use(entrants);
  } finally {
    // Other frameworks exit with a code other than 0 on SIGTERM.
    await Promise.allSettled(entrants.map(({ server }) => server.stop()));
    await Promise.all(stores.map((redis) => redis.stop()));
  }
};

const writeAnswers = (bench: Bench): Promise<void> =>
  withEntrants(bench, [SERVICE], async ([entrant]) => {
    const ask = async (path: string) => {
      const headers = { Authorization: bearer(bench.hugeKey) };
      const response = await fetch(entrant!.server.origin + path, { headers });
      return { status: response.status, body: await response.json() };
    };
    const responses: Record<string, Answers[string]> = {};
    for (const path of dayPaths(catalogue)) responses[BASE + path] = await ask(BASE + path);
    const { body: openapi } = await ask(`${BASE}/openapi.json`);
    await writeFile(answersFile(bench), JSON.stringify({ openapi, responses }));
  });

export const withLineup = async <T>(
  bench: Bench,
  names: readonly string[],
  use: (entrants: readonly Entrant[], answers: Answers) => Promise<T>,
): Promise<T> => {
  if (!existsSync(answersFile(bench))) await writeAnswers(bench);
  const { responses } = JSON.parse(await readFile(answersFile(bench), 'utf8')) as { responses: Answers };
  return withEntrants(bench, names, (entrants) => use(entrants, responses));
};

const assertEqual = (what: string, actual: unknown, expected: unknown): void => {
  if (isDeepStrictEqual(actual, expected)) return;
  const excerpt = (value: unknown) => JSON.stringify(value)?.slice(0, 300);
  throw new Error(`${what}: expected ${excerpt(expected)}, got ${excerpt(actual)}`);
};

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Another version of the service can return fewer fields, so only common fields are compared. */
const sharedWith = (value: unknown, other: unknown): unknown => {
  if (Array.isArray(value) && Array.isArray(other)) return value.map((item, i) => sharedWith(item, other[i]));
  if (!isObject(value) || !isObject(other)) return value;
  const shared = Object.keys(value).filter((key) => Object.hasOwn(other, key));
  return Object.fromEntries(shared.map((key) => [key, sharedWith(value[key], other[key])]));
};

type Representation = Pick<DayRequest, 'path' | 'accepts'>;

const idOf = ({ path, accepts }: Representation): string => `${accepts} ${path}`;

export const representationsOf = (requests: readonly DayRequest[]): readonly Representation[] => [
  ...new Map(requests.map((request) => [idOf(request), request])).values(),
];

const CHECKS = 8;

/**
 * Compares each response with the response of the service, and revalidates its ETag.
 * @returns the ETags
 * @throws if a status or body differs, or if revalidation does not return a 304
 */
const check = async (
  { name, server }: Entrant,
  representations: readonly Representation[],
  answers: Answers,
  keys: readonly string[],
): Promise<ReadonlyMap<string, string>> => {
  const etags = new Map<string, string>();
  let asked = 0;
  const checkOne = async (representation: Representation): Promise<void> => {
    const { path, accepts = 'identity' } = representation;
    const expected = answers[BASE + path]!;
    const headers = { Authorization: bearer(keys[asked++ % keys.length]!), 'Accept-Encoding': accepts };
    const response = await fetch(server.origin + BASE + path, { headers });
    const body = await response.text();
    assertEqual(`${name}: status of ${path}`, response.status, expected.status);
    if (expected.status !== 200) return;
    const rows: unknown = JSON.parse(body);
    const [actual, wanted] =
      name === OTHER ? [sharedWith(rows, expected.body), sharedWith(expected.body, rows)] : [rows, expected.body];
    assertEqual(`${name}: ${path}`, actual, wanted);
    const etag = response.headers.get('ETag') ?? 'none';
    // Without a Cache-Control header, fetch would add no-cache to a conditional request.
    const condition = { ...headers, 'If-None-Match': etag, 'Cache-Control': 'max-age=0' };
    const again = await fetch(server.origin + BASE + path, { headers: condition });
    await again.arrayBuffer();
    assertEqual(`${name}: status of ${path} with If-None-Match: ${etag}`, again.status, 304);
    etags.set(idOf(representation), etag);
  };
  const queue = representations.values();
  const work = async (): Promise<void> => {
    for (const representation of queue) await checkOne(representation);
  };
  await Promise.all(Array.from({ length: CHECKS }, work));
  return etags;
};

export const prepare = async (
  bench: Bench,
  entrant: Entrant,
  answers: Answers,
  scenarios: readonly (readonly DayRequest[])[],
): Promise<readonly RequestList[]> => {
  const representations = representationsOf(scenarios.flat());
  say(`Checking ${representations.length} representations of ${entrant.name}`);
  const etags = await check(entrant, representations, answers, bench.fewKeys);
  const planned = ({ path, key, accepts, conditional, closes }: DayRequest) => {
    const etag = conditional ? etags.get(idOf({ path, accepts })) : undefined;
    const headers = { ...(accepts && { 'Accept-Encoding': accepts }), ...(etag && { 'If-None-Match': etag }) };
    return { path: BASE + path, key, closes, headers, fails: answers[BASE + path]!.status >= 400 };
  };
  return Promise.all(scenarios.map((requests) => writeRequests(bench.folder, requests.map(planned))));
};
