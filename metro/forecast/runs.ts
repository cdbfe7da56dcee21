/** A model's runs over a panel, as documents of the dataset: one run per quarter, each from data up to it. */
import { OperatorError } from '../../core/errors.js';
import type { Backtest, Forecast, ForecastRun, Market } from '../collections.js';
import { periodEnd, quarterStart } from '../periods.js';
import { backtestOf } from './backtest.js';
import { type ForecastModel, type ForecastOptions, HORIZON_MONTHS, HORIZON_QUARTERS, modelVersion } from './model.js';
import { persistence } from './models/persistence.js';
import type { Panel } from './panel.js';
import { quarterName } from './quarter-names.js';
import { rounded } from './rounding.js';
import { type Rules, riskGradeOf, signalOf } from './rules.js';
import { type Origin, realizedChange, walk } from './walk.js';

/** Quarters to make runs at: the newest `last`, or all from one to another, both included. */
export type Span = { readonly last: number } | { readonly from: number; readonly to: number };

export const defaultSpan: Span = { last: 40 };

export interface RunsInput {
  readonly panel: Panel;
  readonly model: ForecastModel;
  readonly options: ForecastOptions;
  readonly rules: Rules;
  readonly span: Span;
  /** The vintage of the panel, `YYYY-MM-DD`. */
  readonly vintage: string;
}

/** Each in key order. */
export interface Runs {
  readonly runs: readonly ForecastRun[];
  readonly forecasts: readonly Forecast[];
  readonly backtest: Backtest | undefined;
}

/** A run's id names its quarter, and so stays the same whatever the span: 20054 for 2005Q4. */
const runId = (quarter: number): number => Math.floor(quarter / 4) * 10 + (quarter % 4) + 1;

/**
 * When a quarter's index is known: the first day of the third month after the quarter. FHFA publishes it in
 * the last week of the second.
 */
const runAt = (quarter: number): string =>
  `${periodEnd(quarterStart(quarter + 1), 'quarterly').slice(0, 7)}-01T00:00:00Z`;

/** Null for a number that is not there. */
const orNull = (value: number | undefined): number | null =>
  value === undefined || Number.isNaN(value) ? null : rounded(value);

const inSpan = (span: Span, origins: readonly Origin[]): readonly Origin[] =>
  'last' in span
    ? origins.slice(-span.last)
    : origins.filter(({ quarter }) => quarter >= span.from && quarter <= span.to);

const emptyMessage = ({ panel, span, options }: RunsInput): string => {
  if (panel.quarters.length === 0) return 'There is nothing to forecast from: the dataset has no house price index.';
  const first = quarterName(panel.firstQuarter);
  const last = quarterName(panel.firstQuarter + panel.quarters.length - 1);
  const asked =
    'last' in span ? `the last ${span.last} quarters` : `${quarterName(span.from)} to ${quarterName(span.to)}`;
  return (
    `No market can be forecast at ${asked}: the index runs from ${first} to ${last}, and a market needs ` +
    `${options.minValues} values and one for the quarter itself. Choose other quarters, or fewer values.`
  );
};

/**
 * Walks the model over the whole panel, and keeps the forecasts of the span's quarters that have any.
 *
 * The walk is pseudo-out-of-sample: a run sees only quarters up to its own, but as this vintage has them, with
 * the revisions made since. Numbers are rounded before the rules read them, so that a reader gets the same signal
 * and grade from what is served.
 * @throws OperatorError when no quarter of the span has a forecast
 */
export const makeRuns = (input: RunsInput): Runs => {
  const { panel, model, options, rules, span, vintage } = input;
  const origins = inSpan(span, [...walk(model, panel, options)].filter(hasForecast));
  if (origins.length === 0) throw new OperatorError(emptyMessage(input));

  const version = modelVersion(model);
  const runs: ForecastRun[] = [];
  const forecasts: Forecast[] = [];
  for (const origin of origins) {
    const rows = panel.markets.flatMap(({ cbsa }, market): Forecast[] => {
      const point = orNull(origin.point[market]);
      if (point === null) return [];
      const outlook = { point, lower_80: orNull(origin.lower[market]), upper_80: orNull(origin.upper[market]) };
      const realized = orNull(realizedChange(panel, origin.quarter, market));
      return [
        {
          run_id: runId(origin.quarter),
          cbsa,
          run_at: runAt(origin.quarter),
          model_version: version,
          horizon_months: HORIZON_MONTHS,
          target_period: quarterStart(origin.quarter + HORIZON_QUARTERS),
          ...outlook,
          signal: signalOf(outlook, rules),
          risk_score: riskGradeOf(outlook, rules),
          realized,
          realized_as_of: realized === null ? null : vintage,
        },
      ];
    });
    forecasts.push(...rows.sort((a, b) => (a.cbsa < b.cbsa ? -1 : 1)));
    runs.push({
      id: runId(origin.quarter),
      status: 'completed',
      model_version: version,
      run_at: runAt(origin.quarter),
      horizon_months: HORIZON_MONTHS,
      features: model.features,
      notes:
        `Pseudo-out-of-sample: uses the index up to ${quarterName(origin.quarter)} only, in its vintage of ${vintage}. ` +
        `${rows.length} of ${panel.markets.length} markets forecast.`,
    });
  }
  const benchmark = { name: persistence.name, point: benchmarkPoints(panel, options) };
  return { runs, forecasts, backtest: backtestOf({ runs, forecasts, benchmark, vintage }) };
};

const hasForecast = ({ point }: Origin): boolean => point.some((value) => !Number.isNaN(value));

/** Looks up what persistence said when a forecast was made. */
const benchmarkPoints = (panel: Panel, options: ForecastOptions): ((forecast: Forecast) => number) => {
  const origins = new Map([...walk(persistence, panel, options)].map((origin) => [runId(origin.quarter), origin]));
  const place = new Map(panel.markets.map(({ cbsa }, market) => [cbsa, market]));
  return ({ run_id, cbsa }) => origins.get(run_id)?.point[place.get(cbsa) as number] ?? Number.NaN;
};

/** The markets with the newest completed run's figures; null where it has none for a market. */
export const withNewestRun = (markets: readonly Market[], { runs, forecasts }: Runs): Market[] => {
  const newest = runs.findLast(({ status }) => status === 'completed')?.id;
  const byMarket = new Map(forecasts.filter(({ run_id }) => run_id === newest).map((row) => [row.cbsa, row]));
  return markets.map((market) => {
    const forecast = byMarket.get(market.cbsa);
    return {
      ...market,
      signal: forecast?.signal ?? null,
      risk_score: forecast?.risk_score ?? null,
      forecast_12m: forecast?.point ?? null,
    };
  });
};
