/** A model's runs over a panel, as documents of the dataset: one run per quarter, each from data up to it. */
import { OperatorError } from '../../core/errors.js';
import { compareScalars } from '../../core/storage/compare.js';
import type { Backtest, Forecast, ForecastRun, Market } from '../collections.js';
import { periodEnd, quarterStart } from '../periods.js';
import { rounded } from '../rounding.js';
import { backtestOf } from './backtest.js';
import { type ForecastModel, type ForecastOptions, HORIZON_MONTHS, HORIZON_QUARTERS, modelVersion } from './model.js';
import { persistence } from './models/persistence.js';
import type { Panel } from './panel.js';
import { quarterName } from './quarter-names.js';
import { type Rules, riskGradeOf, signalOf } from './rules.js';
import { type Origin, realizedChange, walk } from './walk.js';

/** The quarters to make runs at: those from `from` to `to`, both included, and of these the newest `last`. */
export interface Span {
  readonly from?: number;
  readonly to?: number;
  readonly last?: number;
}

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

const inSpan = ({ from = 0, to = Number.POSITIVE_INFINITY, last }: Span, origins: readonly Origin[]) => {
  const within = origins.filter(({ quarter }) => quarter >= from && quarter <= to);
  return last === undefined ? within : within.slice(-last);
};

const emptyMessage = ({ panel, span, options }: RunsInput): string => {
  if (panel.quarters.length === 0) return 'There is nothing to forecast from: the dataset has no house price index.';
  const newest = panel.firstQuarter + panel.quarters.length - 1;
  const { from = panel.firstQuarter, to = newest } = span;
  return (
    `No market can be forecast at ${quarterName(from)} to ${quarterName(to)}: the index runs from ` +
    `${quarterName(panel.firstQuarter)} to ${quarterName(newest)}, and a market needs ${options.minValues} values ` +
    'and one for the quarter itself. Choose other quarters, or ask for fewer values.'
  );
};

/** What an origin's run says of its markets, by code. */
const forecastsAt = (origin: Origin, { panel, model, rules, vintage }: RunsInput): Forecast[] => {
  const rows: Forecast[] = [];
  for (const [market, { cbsa }] of panel.markets.entries()) {
    const point = orNull(origin.point[market]);
    if (point === null) continue;
    const outlook = { point, lower_80: orNull(origin.lower[market]), upper_80: orNull(origin.upper[market]) };
    const realized = orNull(realizedChange(panel, origin.quarter, market));
    rows.push({
      run_id: runId(origin.quarter),
      cbsa,
      run_at: runAt(origin.quarter),
      model_version: modelVersion(model),
      horizon_months: HORIZON_MONTHS,
      target_period: quarterStart(origin.quarter + HORIZON_QUARTERS),
      ...outlook,
      signal: signalOf(outlook, rules),
      risk_score: riskGradeOf(outlook, rules),
      realized,
      realized_as_of: realized === null ? null : vintage,
    });
  }
  return rows.sort((a, b) => compareScalars(a.cbsa, b.cbsa));
};

const runOf = (quarter: number, markets: number, { panel, model, vintage }: RunsInput): ForecastRun => ({
  id: runId(quarter),
  status: 'completed',
  model_version: modelVersion(model),
  run_at: runAt(quarter),
  horizon_months: HORIZON_MONTHS,
  features: model.features,
  notes:
    `Pseudo-out-of-sample: uses the index up to ${quarterName(quarter)} only, in its vintage of ${vintage}. ` +
    `${markets} of ${panel.markets.length} markets forecast.`,
});

/**
 * Walks the model over the whole panel, and keeps the forecasts of the span's quarters that have any.
 *
 * The walk is pseudo-out-of-sample: a run sees only quarters up to its own, but as this vintage has them, with
 * the revisions made since. Numbers are rounded before the rules read them, so that a reader gets the same signal
 * and grade from what is served.
 * @throws OperatorError when no quarter of the span has a forecast
 */
export const makeRuns = (input: RunsInput): Runs => {
  const { panel, model, options, span, vintage } = input;
  const origins = inSpan(span, [...walk(model, panel, options)].filter(hasForecast));
  if (origins.length === 0) throw new OperatorError(emptyMessage(input));
  const byOrigin = origins.map((origin) => forecastsAt(origin, input));
  const runs = origins.map(({ quarter }, index) => runOf(quarter, byOrigin[index]?.length ?? 0, input));
  const forecasts = byOrigin.flat();
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
