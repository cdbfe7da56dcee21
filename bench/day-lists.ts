/** The day as each contender gets it: the same requests, with the ETags of that contender. */
import { type Answers, dayOptions, readAnswers } from './answers.js';
import type { Bench } from './bench.js';
import { type Accepted, type DayRequest, drawDay } from './day.js';
import { assertAlike, type Entrant } from './lineup.js';
import { type RequestList, writeRequests } from './request-list.js';
import { BASE } from './service.js';

/** So many that a list is as various as a day: each key comes twenty times, the rarest market a few times. */
const REQUESTS = 100_000;
/** Requests at a time while representations are checked. */
const CHECKS = 8;

interface Representation {
  readonly path: string;
  readonly accepts: Accepted;
}

const idOf = ({ path, accepts }: Representation): string => `${accepts} ${path}`;

/** Every representation that the day asks for, once. */
const representationsOf = (day: readonly DayRequest[]): Representation[] => [
  ...new Map(day.map(({ path, accepts }) => [idOf({ path, accepts }), { path, accepts }])).values(),
];

/**
 * Fetches each representation, compares it with what the service answered, and asks for it again with its ETag.
 * @returns the ETags
 * @throws where a status, a body or the answer to a condition is not as it should be
 */
const learn = async (
  { contender: { name }, server }: Entrant,
  representations: readonly Representation[],
  answers: Answers,
  keys: readonly string[],
): Promise<ReadonlyMap<string, string>> => {
  const etags = new Map<string, string>();
  let asked = 0;
  const ask = (path: string, accepts: Accepted, headers: Record<string, string> = {}): Promise<Response> => {
    const authorization = `Bearer ${keys[asked++ % keys.length]}`;
    const fields = { Authorization: authorization, 'Accept-Encoding': accepts ?? 'identity', ...headers };
    return fetch(server.origin + BASE + path, { headers: fields });
  };
  const check = async (representation: Representation): Promise<void> => {
    const { path, accepts } = representation;
    const expected = answers.get(BASE + path)!;
    const response = await ask(path, accepts);
    const body = await response.text();
    assertAlike(name, `${path}, status`, response.status, expected.status);
    if (expected.status !== 200) return;
    assertAlike(name, path, JSON.parse(body), expected.body);
    const etag = response.headers.get('ETag') ?? 'none';
    // Without a word of its own on caching, fetch would add no-cache to a condition, and be given all anew.
    const again = await ask(path, accepts, { 'If-None-Match': etag, 'Cache-Control': 'max-age=0' });
    await again.arrayBuffer();
    assertAlike(name, `${path} with If-None-Match: ${etag}, status`, again.status, 304);
    etags.set(idOf(representation), etag);
  };
  const queue = representations.values();
  const work = async (): Promise<void> => {
    for (const representation of queue) await check(representation);
  };
  await Promise.all(Array.from({ length: CHECKS }, work));
  return etags;
};

const listFor = (
  bench: Bench,
  day: readonly DayRequest[],
  answers: Answers,
  etags: ReadonlyMap<string, string>,
): Promise<RequestList> =>
  writeRequests(
    bench.folder,
    day.map(({ path, key, accepts, conditional, closes }) => {
      const etag = conditional ? etags.get(idOf({ path, accepts })) : undefined;
      return {
        path: BASE + path,
        key,
        closes,
        fails: answers.get(BASE + path)!.status >= 400,
        headers: { ...(accepts && { 'Accept-Encoding': accepts }), ...(etag && { 'If-None-Match': etag }) },
      };
    }),
  );

export interface PreparedDay {
  readonly lists: readonly (readonly [Entrant, RequestList])[];
  /** How many different ones are asked for. */
  readonly representations: number;
}

/** @throws where a contender gives another representation than the service does, or no 304 for its ETag */
export const prepareDay = async (bench: Bench, entrants: readonly Entrant[]): Promise<PreparedDay> => {
  const answers = await readAnswers(bench);
  const day = drawDay({ ...dayOptions, keys: bench.usualKeys }, REQUESTS);
  const representations = representationsOf(day);
  const lists: [Entrant, RequestList][] = [];
  for (const entrant of entrants) {
    bench.say(`Day: checking ${representations.length} representations of ${entrant.contender.name}`);
    const etags = await learn(entrant, representations, answers, bench.usualKeys);
    lists.push([entrant, await listFor(bench, day, answers, etags)]);
  }
  return { lists, representations: representations.length };
};
