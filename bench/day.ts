/**
 * Generates the requests of a typical day: many callers, each with a few requests for different resources. The
 * popularity of resources follows Zipf's law: the n-th resource in a list is requested 1/n times as often as the first.
 */
import { type Random, randomFrom } from '../plugins/metro/sample/random.js';

type Accepted = 'gzip, deflate, br' | 'gzip, deflate' | undefined;

export interface DayRequest {
  /** Path and query, relative to the base path of the API. */
  readonly path: string;
  readonly key: string;
  readonly accepts: Accepted;
  readonly conditional: boolean;
  readonly closes: boolean;
}

const SHARES = { market: 0.7, lists: 0.2, notFound: 0.02, invalid: 0.01 };
const CONDITIONAL = 1 / 3;
const BR = 0.5;
const GZIP = 0.2;
const CLOSES = 0.05;
const SINCE = { first: 1998, count: 10 };

const LISTS = ['/markets', '/signals', '/forecasts', '/movers?limit=5', '/forecast-runs', '/forecast-backtest'];
const NOT_FOUND = ['/markets/99999', '/markets/99998/history', '/observations?series_id=NOTHING'];
const INVALID = ['/markets/houston', '/movers?limit=51', '/observations?series_id=SERIES00&since=today'];

const ofMarket = (cbsa: string): string[] => [
  ...['', '/history', '/forecast-track'].map((view) => `/markets/${cbsa}${view}`),
  `/forecasts/${cbsa}/history`,
];
const ofSeries = (id: string): string[] => {
  const since = Array.from({ length: SINCE.count }, (_, i) => `&since=${SINCE.first + i}-01-01`);
  return ['', ...since].map((condition) => `/observations?series_id=${id}${condition}`);
};
const indexOf = (cbsa: string): string => `/observations?series_id=metro_hpi&cbsa=${cbsa}`;

export interface DayOptions {
  readonly cbsas: readonly string[];
  readonly series: readonly string[];
}

export const validPaths = ({ cbsas, series }: DayOptions): string[] => [
  ...cbsas.flatMap((cbsa) => [...ofMarket(cbsa), indexOf(cbsa)]),
  ...[...series.flatMap(ofSeries), '/series', ...LISTS],
];

export const dayPaths = (options: DayOptions): string[] => [...validPaths(options), ...NOT_FOUND, ...INVALID];

const zipf = <T>(random: Random, values: readonly T[]): (() => T) => {
  const sums: number[] = [];
  for (const rank of values.keys()) sums.push((sums.at(-1) ?? 0) + 1 / (rank + 1));
  return () => {
    const point = random.uniform() * sums.at(-1)!;
    return values[sums.findIndex((sum) => point < sum)]!;
  };
};

export const drawDay = (
  { cbsas, series, keys }: DayOptions & { readonly keys: readonly string[] },
  count: number,
): DayRequest[] => {
  const random = randomFrom('day');
  const cbsa = zipf(random, cbsas);
  const market = zipf(
    random,
    cbsas.map((each) => zipf(random, ofMarket(each))),
  );
  const list = zipf(random, LISTS);
  const macro = zipf(
    random,
    series.map((each) => zipf(random, ofSeries(each))),
  );
  const observations = zipf(random, [() => macro()(), () => indexOf(cbsa()), () => '/series']);
  const uniform = <T>(values: readonly T[]): T => values[Math.floor(random.uniform() * values.length)]!;

  const valid = (): string => {
    const kind = random.uniform();
    if (kind < SHARES.market) return market()();
    return kind < SHARES.market + SHARES.lists ? list() : observations()();
  };
  const path = (): string => {
    const kind = random.uniform();
    if (kind < SHARES.notFound) return uniform(NOT_FOUND);
    return kind < SHARES.notFound + SHARES.invalid ? uniform(INVALID) : valid();
  };
  const accepts = (): Accepted => {
    const choice = random.uniform();
    return choice < BR ? 'gzip, deflate, br' : choice < BR + GZIP ? 'gzip, deflate' : undefined;
  };
  return Array.from({ length: count }, () => ({
    path: path(),
    key: uniform(keys),
    accepts: accepts(),
    conditional: random.uniform() < CONDITIONAL,
    closes: random.uniform() < CLOSES,
  }));
};
