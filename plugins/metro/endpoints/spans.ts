import { invalidParameter, type Parameter, type SnapshotReader } from 'metro-forecast-api/plugin';
import { seriesOfArea } from '../areas.js';
import { date, hpi, observations } from '../collections.js';

export interface Span {
  readonly since?: string;
  readonly until?: string;
}

export const spanParameters = {
  since: { description: 'Earliest period, inclusive.', schema: date, example: '2024-01-01' },
  until: { description: 'Latest period, inclusive.', schema: date, example: '2025-12-31' },
} as const satisfies Record<keyof Span, Parameter>;

/** @throws ApiError if the span ends before it starts */
export const checkSpan = ({ since, until }: Span): void => {
  if (since === undefined || until === undefined || since <= until) return;
  throw invalidParameter('query', 'until', `must not be before since=${since}`);
};

export const periodRange = ({ since, until }: Span) =>
  ({ range: { field: 'period_start', from: since, to: until } }) as const;

type FindPeriod = (span: Span, which: 'first' | 'last') => Promise<string | undefined>;

export const periodsOfSeries =
  (snapshot: SnapshotReader, series_id: string): FindPeriod =>
  async (span, which) => {
    const query = { equal: { series_id }, ...periodRange(span), descending: which === 'last', limit: 1 } as const;
    return (await snapshot.find(observations, query))[0]?.period_start;
  };

/** National and state indexes are stored as macro series, and metro indexes in `hpi`. */
export const indexOfMarket = async (snapshot: SnapshotReader, cbsa: string, span: Span) => {
  const series_id = seriesOfArea(cbsa);
  const rows: readonly { period_start: string; value: number; standard_error?: number }[] = series_id
    ? await snapshot.find(observations, { equal: { series_id }, ...periodRange(span) })
    : await snapshot.find(hpi, { equal: { cbsa }, ...periodRange(span) });
  return rows.map(({ period_start, value, standard_error = null }) => ({ period_start, value, standard_error }));
};

export const periodsOfMarket = (snapshot: SnapshotReader, cbsa: string): FindPeriod => {
  const series_id = seriesOfArea(cbsa);
  return series_id === undefined ? periodsOfMetro(snapshot, cbsa) : periodsOfSeries(snapshot, series_id);
};

const periodsOfMetro =
  (snapshot: SnapshotReader, cbsa: string): FindPeriod =>
  async (span, which) => {
    const query = { equal: { cbsa }, ...periodRange(span), descending: which === 'last', limit: 1 } as const;
    return (await snapshot.find(hpi, query))[0]?.period_start;
  };

const indexPeriods = new WeakMap<SnapshotReader['manifest'], Promise<readonly string[]>>();

const readIndexPeriods = async (snapshot: SnapshotReader): Promise<readonly string[]> => {
  const found = new Set<string>();
  for await (const batch of snapshot.stream(hpi)) for (const { period_start } of batch) found.add(period_start);
  return [...found].sort();
};

/** No sort order of the collection starts with the period, so the whole index is read once per snapshot. */
export const periodsOfIndex = (snapshot: SnapshotReader): FindPeriod => {
  const { manifest } = snapshot;
  const known = indexPeriods.get(manifest);
  const periods = known ?? readIndexPeriods(snapshot);
  if (!known) {
    indexPeriods.set(manifest, periods);
    periods.catch(() => indexPeriods.delete(manifest));
  }
  return async ({ since = '', until = '9999' }, which) => {
    const within = (period: string) => since <= period && period <= until;
    return which === 'first' ? (await periods).find(within) : (await periods).findLast(within);
  };
};

const BEFORE_ALL = '0001-01-01';
const AFTER_ALL = '9999-12-31';

/**
 * Moves `since` and `until` to the first and last period between them, so that equivalent requests share a cached
 * response. Removes a bound that excludes no periods.
 * @param finders one for each series in the response
 */
export const normalizeSpan = async <Input extends Span>(
  input: Input,
  finders: readonly FindPeriod[],
): Promise<Input> => {
  const { since, until, ...others } = input;
  const find = async (span: Span, which: 'first' | 'last') => {
    const found: string[] = [];
    for (const finder of finders) {
      const period = await finder(span, which);
      if (period !== undefined) found.push(period);
    }
    found.sort();
    return found.at(which === 'first' ? 0 : -1);
  };
  const from = since && ((await find({ since }, 'first')) ?? AFTER_ALL);
  const to = until && ((await find({ until }, 'last')) ?? BEFORE_ALL);
  return {
    ...others,
    ...(from && from !== (await find({}, 'first')) && { since: from }),
    ...(to && to !== (await find({}, 'last')) && { until: to }),
  } as unknown as Input;
};
