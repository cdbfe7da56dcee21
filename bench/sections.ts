import { type Bench, catalogue, FEW_KEYS, MANY_KEYS, say, USUAL_LIMIT } from './bench.js';
import { BARE, EXPRESS, FASTIFY, KOA, OTHER, SERVICE } from './contenders.js';
import { type DayRequest, drawDay } from './day.js';
import { type Entrant, prepare, representationsOf, withLineup } from './lineup.js';
import type { RequestList } from './requests.js';
import { measureRows } from './rows.js';
import { HUGE_LIMIT } from './service.js';
import { formatCell, percent, type Table } from './table.js';
import { type Outcome, takeTurns } from './turns.js';

export const SECTIONS = ['day', 'keys', 'responses', 'rows'] as const;
export type SectionName = (typeof SECTIONS)[number];

export interface SectionReport {
  readonly tables: readonly Table[];
  readonly notes: readonly string[];
}

const CONNECTIONS = 32;
/** With 100,000 requests, each of the 5,000 keys is used about 20 times. */
const DAY_REQUESTS = 100_000;

const titled = (what: string): string => `${what}, ${CONNECTIONS} connections`;
const usualKeys = (count: number): string => titled(`One market, ${formatCell(count)} keys of ${USUAL_LIMIT} a minute`);
export const DAY_TITLE = titled('Realistic mix of requests');
export const FEW_KEYS_TITLE = usualKeys(FEW_KEYS);
const MANY_KEYS_TITLE = usualKeys(MANY_KEYS);
export const HUGE_KEY_TITLE = titled(`One market, one key of ${formatCell(HUGE_LIMIT)} a minute`);

interface Scenario {
  readonly title: string;
  readonly requests: readonly DayRequest[];
}

interface Section {
  readonly contenders: readonly string[];
  scenarios(bench: Bench): readonly Scenario[];
  notes(representations: number): readonly string[];
}

const request = (path: string, key: string, conditional = false): DayRequest => {
  return { path, key, conditional, accepts: undefined, closes: false };
};

const MARKET = `/markets/${catalogue.cbsas[200]}`;

const sections: Readonly<Record<Exclude<SectionName, 'rows'>, Section>> = {
  day: {
    contenders: [SERVICE, BARE, FASTIFY, KOA, EXPRESS],
    scenarios: ({ fewKeys }) => [
      { title: DAY_TITLE, requests: drawDay({ ...catalogue, keys: fewKeys }, DAY_REQUESTS) },
    ],
    notes: (representations) => [
      `${formatCell(FEW_KEYS)} keys, each limited to ${USUAL_LIMIT} requests per minute; ${formatCell(representations)} ` +
        "representations, drawn according to Zipf's law. 70% of requests are for a market, its history, track or forecasts; " +
        '20% for lists; 10% for observations and series. A third send If-None-Match with the current ETag. Half accept br, ' +
        'and a fifth only gzip. 2% get a 404, and 1% a 400. One connection in twenty is closed after the response.',
      'Before the measurement, each contender returned the same body as the service for every representation, and a 304 ' +
        'for its ETag. The contenders look up prepared objects and serialise them. node:http sends prepared bytes in every ' +
        'encoding, without keys or limits.',
    ],
  },
  keys: {
    contenders: [SERVICE, FASTIFY, KOA, EXPRESS],
    scenarios: ({ fewKeys, manyKeys, hugeKey }) => [
      { title: FEW_KEYS_TITLE, requests: fewKeys.map((key) => request(MARKET, key)) },
      { title: MANY_KEYS_TITLE, requests: manyKeys.map((key) => request(MARKET, key)) },
      { title: HUGE_KEY_TITLE, requests: [request(MARKET, hugeKey)] },
    ],
    notes: () => [
      'Each contender has its own Redis on the load core. CPU of Redis is its CPU time per request, which is one limiter ' +
        'decision.',
      'All tables were measured in the same rounds, so that their figures can be compared.',
    ],
  },
  responses: {
    contenders: [SERVICE, BARE, FASTIFY, KOA, EXPRESS],
    scenarios: ({ hugeKey }) => [
      { title: titled('List of 410 markets, one huge key'), requests: [request('/markets', hugeKey)] },
      { title: titled('History of one market, one huge key'), requests: [request(`${MARKET}/history`, hugeKey)] },
      { title: titled('304 for one market, one huge key'), requests: [request(MARKET, hugeKey, true)] },
    ],
    notes: () => ['All tables were measured in the same rounds. node:http checks neither keys nor limits.'],
  },
};

const share = ({ requestsPerSecond }: Outcome, microseconds: number): number =>
  (requestsPerSecond * microseconds) / 1e6;
const loadShare = (outcome: Outcome): number => share(outcome, outcome.loadCpu + outcome.redisCpu);

export const outcomeTable = (title: string, outcomes: ReadonlyMap<string, Outcome>): Table => {
  const references = [FASTIFY, BARE, OTHER].filter((name) => outcomes.has(name));
  return {
    title,
    columns: [
      ...['', 'requests/s', 'spread', ...references.map((name) => `x ${name}`)],
      ...['CPU, microseconds', 'CPU of Redis, microseconds', 'core in use', 'core of the load in use'],
    ],
    rows: [...outcomes].map(([name, outcome]) => [
      ...[name, outcome.requestsPerSecond, percent(outcome.spread)],
      ...references.map((other) => outcome.requestsPerSecond / outcomes.get(other)!.requestsPerSecond),
      ...[outcome.serverCpu, outcome.redisCpu],
      ...[percent(share(outcome, outcome.serverCpu)), percent(loadShare(outcome))],
    ]),
  };
};

/** The note shows whether the load generator was the bottleneck. */
export const loadNote = (measured: readonly ReadonlyMap<string, Outcome>[]): string => {
  const shares = measured.flatMap((outcomes) => [...outcomes.values()].map(loadShare));
  return `wrk and Redis used at most ${percent(Math.max(...shares))} of their core.`;
};

export const measureSection = (bench: Bench, name: SectionName): Promise<SectionReport> => {
  if (name === 'rows') return measureRows(bench);
  const { contenders, scenarios: scenariosOf, notes } = sections[name];
  const names = bench.against ? contenders.toSpliced(1, 0, OTHER) : contenders;
  return withLineup(bench, names, async (entrants, answers) => {
    const scenarios = scenariosOf(bench);
    const requests = scenarios.map((scenario) => scenario.requests);
    const prepared: (readonly [Entrant, readonly RequestList[]])[] = [];
    for (const entrant of entrants) prepared.push([entrant, await prepare(bench, entrant, answers, requests)]);
    say(`Measuring: ${scenarios.map(({ title }) => title).join('; ')}`);
    const turns = scenarios.map((_, i) =>
      prepared.map(([entrant, lists]) => ({ entrant, list: lists[i]!, connections: CONNECTIONS })),
    );
    const measured = await takeTurns(turns, bench.settings);
    const tables = scenarios.map(({ title }, i) => outcomeTable(title, measured[i]!));
    return { tables, notes: [...notes(representationsOf(requests.flat()).length), loadNote(measured)] };
  });
};
