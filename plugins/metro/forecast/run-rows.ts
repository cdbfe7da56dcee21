import { compareScalars } from 'metro-forecast-api/adapter';
import type { Forecast, Signal } from '../collections.js';
import { quarterIndex, quarterStart } from '../periods.js';
import { indexKnownOn } from '../release-calendar.js';
import { rounded } from '../rounding.js';
import type { Benchmark } from './backtest.js';
import {
  type ForecastModel,
  type ForecastOptions,
  HORIZON_MONTHS,
  type Horizon,
  modelVersion,
  quartersOf,
} from './model.js';
import { ar1Nation, persistence, shrunkMean } from './models/benchmarks.js';
import type { Panel } from './panel.js';
import { declineProbability, type Outlook, type Rules, riskGradeOf, signalOf } from './rules.js';
import { type Origin, realizedChange, walk } from './walk.js';

/**
 * Returns the id of a run, such as 20054 for 2005Q4. Horizons other than 12 months are appended, as in 2005403 for 3
 * months.
 */
export const runId = (quarter: number, horizon: Horizon = HORIZON_MONTHS): number => {
  const id = Math.floor(quarter / 4) * 10 + (quarter % 4) + 1;
  return horizon === HORIZON_MONTHS ? id : 100 * id + horizon;
};

export const isMainRun = (id: number): boolean => id < 100_000;

export const quarterOfRun = (id: number): number => {
  const quarter = isMainRun(id) ? id : Math.floor(id / 100);
  return quarterIndex(Math.floor(quarter / 10), quarter % 10);
};

export const toTimestamp = (time: Date): string => time.toISOString().replace('.000Z', 'Z');

/** Returns the time at which the index for a quarter becomes known, or `created` if that is earlier. */
export const runAt = (quarter: number, created: Date): string =>
  toTimestamp(new Date(Math.min(Date.parse(indexKnownOn(quarter)), created.getTime())));

interface RowsInput {
  readonly panel: Panel;
  readonly model: ForecastModel;
  readonly options: ForecastOptions & { readonly horizon: Horizon };
  readonly rules: Rules;
  readonly vintage: string;
  readonly created: Date;
  readonly newest: number;
  readonly kept: readonly Forecast[];
}

const orNull = (value: number | undefined): number | null =>
  value === undefined || Number.isNaN(value) ? null : rounded(value);

export interface ServedOrigin extends Origin {
  readonly served: readonly ((Outlook & { readonly signal: Signal }) | undefined)[];
  /** Share of markets whose signal changed, among markets with a signal in both runs. */
  readonly signalChanges: number;
}

/**
 * Adds signals to the forecasts. The signal of a market depends on its signal in the previous quarter. For the newest
 * quarter, the previous signal comes from the stored run, if there is one. In all other cases, it is recomputed.
 */
const withSignals = (origins: readonly Origin[], { panel, rules, kept, newest }: RowsInput): ServedOrigin[] => {
  let before: readonly (Signal | null | undefined)[] = [];
  return origins.map((origin) => {
    const rows =
      origin.quarter === newest ? kept.filter(({ run_id }) => run_id === runId(origin.quarter - 1)) : undefined;
    const published = new Map(rows?.map(({ cbsa, signal }) => [cbsa, signal]));
    const previousOf = (market: number) => published.get(panel.markets[market]?.cbsa ?? '') ?? before[market];
    const served = panel.markets.map((_, market) => {
      const point = orNull(origin.point[market]);
      if (point === null) return undefined;
      const outlook = { point, lower_80: orNull(origin.lower[market]), upper_80: orNull(origin.upper[market]) };
      return { ...outlook, signal: signalOf(outlook, rules, previousOf(market)) };
    });
    const compared = [...served.keys()].filter((market) => served[market] && previousOf(market));
    const changed = compared.filter((market) => served[market]?.signal !== previousOf(market));
    before = served.map((row) => row?.signal);
    return { ...origin, served, signalChanges: changed.length / compared.length };
  });
};

interface PanelRows {
  readonly origins: readonly ServedOrigin[];
  rowsAt(quarter: number): Forecast[];
  withRealized(forecasts: readonly Forecast[]): Forecast[];
}

const hasForecast = ({ point }: Origin): boolean => point.some((value) => !Number.isNaN(value));

const benchmarksOf = ({ panel, options }: RowsInput): Readonly<Record<Benchmark, readonly Origin[]>> => ({
  benchmark: [...walk(persistence, panel, options)],
  ar1_nation: [...walk(ar1Nation, panel, options)],
  shrunk_mean: [...walk(shrunkMean, panel, options)],
});

const realizedIn = ({ panel, vintage, options: { horizon } }: RowsInput, quarter: number, market: number) => {
  const realized = orNull(realizedChange(panel, quarter, market, horizon));
  return { realized, realized_as_of: realized === null ? null : vintage };
};

/** The rules use rounded numbers, so that signals and grades agree with the published numbers. */
export const createPanelRows = (input: RowsInput): PanelRows => {
  const { panel, model, options, rules, created } = input;
  const { horizon } = options;
  const hasRules = horizon === HORIZON_MONTHS;
  const benchmarks = benchmarksOf(input);
  const origins = withSignals([...walk(model, panel, options)].filter(hasForecast), input);
  const byQuarter = new Map(origins.map((origin) => [origin.quarter, origin]));
  const place = new Map(panel.markets.map(({ cbsa }, market) => [cbsa, market]));

  const rowOf = ({ quarter, served, contributions }: ServedOrigin, market: number, cbsa: string): Forecast[] => {
    const row = served[market];
    if (!row) return [];
    const { signal, ...outlook } = row;
    const decline = declineProbability(outlook);
    const decline_probability = decline === null ? null : rounded(decline);
    const benchmarkPoint = (name: Benchmark) => orNull(benchmarks[name][quarter - panel.firstQuarter]?.point[market]);
    return [
      {
        run_id: runId(quarter, horizon),
        cbsa,
        run_at: runAt(quarter, created),
        model_version: modelVersion(model),
        horizon_months: horizon,
        target_period: quarterStart(quarter + quartersOf(horizon)),
        ...outlook,
        signal: hasRules ? signal : null,
        risk_score: hasRules ? riskGradeOf(decline_probability, rules) : null,
        ...realizedIn(input, quarter, market),
        decline_probability,
        benchmark: benchmarkPoint('benchmark'),
        ar1_nation: benchmarkPoint('ar1_nation'),
        shrunk_mean: benchmarkPoint('shrunk_mean'),
        ...(contributions && {
          contributions: Object.values(contributions).map((values) => rounded(values[market]!)),
        }),
      },
    ];
  };

  return {
    origins,
    rowsAt(quarter) {
      const origin = byQuarter.get(quarter);
      const rows = origin ? panel.markets.flatMap(({ cbsa }, market) => rowOf(origin, market, cbsa)) : [];
      return rows.sort((a, b) => compareScalars(a.cbsa, b.cbsa));
    },
    withRealized: (forecasts) =>
      forecasts.map((row) => {
        const market = row.horizon_months === horizon ? place.get(row.cbsa) : undefined;
        const now = market === undefined ? undefined : realizedIn(input, quarterOfRun(row.run_id), market);
        return now === undefined || now.realized === null ? row : { ...row, ...now };
      }),
  };
};
