/** Runs of a model over a panel, as documents of the dataset. Each quarter has one run, computed from data up to it. */

import { compareScalars } from 'metro-forecast-api/adapter';
import { OperatorError } from 'metro-forecast-api/plugin';
import type { Backtest, Forecast, ForecastRun, Market } from '../collections.js';
import { periodEnd, quarterIndex, quarterName, quarterStart } from '../periods.js';
import { basisOf } from '../release-calendar.js';
import { rounded } from '../rounding.js';
import { backtestOf } from './backtest.js';
import { createDeclineCalibration } from './decline-calibration.js';
import { type ForecastModel, type ForecastOptions, HORIZON_MONTHS, HORIZON_QUARTERS, modelVersion } from './model.js';
import { type ChosenModel, chooseModel } from './models/index.js';
import { persistence } from './models/persistence.js';
import type { Panel } from './panel.js';
import { declineProbability, type Rules, riskGradeOf, signalOf, toRunRules } from './rules.js';
import { macroKnownAt, type Origin, realizedChange, walk } from './walk.js';

/** The quarters of new runs: the newest `last` quarters between `from` and `to`, both included. */
export interface Span {
  readonly from?: number;
  readonly to?: number;
  readonly last?: number;
}

export const defaultSpan: Span = { last: 40 };

export interface RunsInput {
  readonly panel: Panel;
  /** Default: the default model, if the panel has its inputs. */
  readonly model?: ForecastModel | undefined;
  readonly options: ForecastOptions;
  readonly rules: Rules;
  readonly span: Span;
  /** The vintage of the panel, `YYYY-MM-DD`. */
  readonly vintage: string;
  /** When the runs are published. */
  readonly created: Date;
  /** When the runs are computed. Default: `created`. */
  readonly computed?: Date | undefined;
  /** Runs to keep, and their forecasts. Their quarters get no new run. */
  readonly kept?: Pick<Runs, 'runs' | 'forecasts'> | undefined;
}

/** The inputs of a run other than the quarter. */
interface Making extends RunsInput {
  readonly chosen: ChosenModel;
  readonly benchmark: readonly Origin[];
}

/** Earlier and new runs, and their forecasts, in key order. */
export interface Runs {
  /** Ids of the new runs. */
  readonly added: readonly number[];
  readonly runs: readonly ForecastRun[];
  readonly forecasts: readonly Forecast[];
  readonly backtest: Backtest | undefined;
}

/** The id of a run is derived from its quarter, and does not depend on the span: 20054 for 2005Q4. */
const runId = (quarter: number): number => Math.floor(quarter / 4) * 10 + (quarter % 4) + 1;

const toTimestamp = (time: Date): string => time.toISOString().replace('.000Z', 'Z');

/**
 * The day on which the index of a quarter is known: the first day of the third month after it. FHFA publishes it in the
 * last week of the second month. Never after the publication of the run.
 */
const runAt = (quarter: number, created: Date): string => {
  const known = Date.parse(`${periodEnd(quarterStart(quarter + 1), 'quarterly').slice(0, 7)}-01T00:00:00Z`);
  return toTimestamp(new Date(Math.min(known, created.getTime())));
};

/** Null instead of `NaN`. */
const orNull = (value: number | undefined): number | null =>
  value === undefined || Number.isNaN(value) ? null : rounded(value);

const inSpan = <T extends Origin>(
  { from = 0, to = Number.POSITIVE_INFINITY, last }: Span,
  origins: readonly T[],
): readonly T[] => {
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

/** An origin with the calibrated probabilities of a decline by market. `NaN` for a forecast without bounds. */
interface CalibratedOrigin extends Origin {
  readonly decline: Float64Array;
}

/**
 * Calibrates the probabilities at each origin by the outcomes of forecasts that are at least four quarters older.
 */
const calibrate = (panel: Panel, origins: readonly Origin[]): CalibratedOrigin[] => {
  const calibration = createDeclineCalibration();
  const predictedAt = ({ point, lower, upper }: Origin): Float64Array =>
    point.map((value, market) => {
      const outlook = { point: value, lower_80: lower[market] as number, upper_80: upper[market] as number };
      return Number.isNaN(outlook.lower_80) ? Number.NaN : (declineProbability(outlook) as number);
    });
  const predictions = origins.map(predictedAt);
  return origins.map((origin, index) => {
    const due = origins[index - HORIZON_QUARTERS];
    if (due) {
      calibration.learn(
        [...(predictions[index - HORIZON_QUARTERS] as Float64Array)].flatMap((predicted, market) => {
          const realized = realizedChange(panel, due.quarter, market);
          return Number.isNaN(predicted) || Number.isNaN(realized) ? [] : [{ predicted, declined: realized < 0 }];
        }),
      );
    }
    const decline = (predictions[index] as Float64Array).map((predicted) =>
      Number.isNaN(predicted) ? Number.NaN : calibration.calibrated(predicted),
    );
    return { ...origin, decline };
  });
};

/** The forecasts of an origin's run, by code. */
const forecastsAt = (origin: CalibratedOrigin, input: Making): Forecast[] => {
  const { panel, chosen, rules, vintage, created, benchmark } = input;
  const naive = benchmark[origin.quarter - panel.firstQuarter] as Origin;
  const rows: Forecast[] = [];
  for (const [market, { cbsa }] of panel.markets.entries()) {
    const point = orNull(origin.point[market]);
    if (point === null) continue;
    const outlook = { point, lower_80: orNull(origin.lower[market]), upper_80: orNull(origin.upper[market]) };
    const decline_probability = orNull(origin.decline[market]);
    rows.push({
      run_id: runId(origin.quarter),
      cbsa,
      run_at: runAt(origin.quarter, created),
      model_version: modelVersion(chosen.model),
      horizon_months: HORIZON_MONTHS,
      target_period: quarterStart(origin.quarter + HORIZON_QUARTERS),
      ...outlook,
      signal: signalOf(outlook, rules),
      risk_score: riskGradeOf(decline_probability, rules),
      ...realizedIn(panel, vintage, origin.quarter, market),
      decline_probability,
      benchmark: orNull(naive.point[market]),
    });
  }
  return rows.sort((a, b) => compareScalars(a.cbsa, b.cbsa));
};

/** The realized value of a market's forecast in this vintage. */
const realizedIn = (panel: Panel, vintage: string, quarter: number, market: number) => {
  const realized = orNull(realizedChange(panel, quarter, market));
  return { realized, realized_as_of: realized === null ? null : vintage };
};

/** The last day for which the series of a run were known. */
const macroNote = ({ panel, chosen }: Making, quarter: number): string =>
  [...macroKnownAt(panel, chosen.model.series, quarter)]
    .map(([id, values]) => ` ${id} up to ${values.at(-1)?.start.slice(0, 7) ?? 'nothing'}.`)
    .join('');

const runOf = ({ quarter, coefficients }: Origin, markets: number, input: Making): ForecastRun => {
  const { panel, chosen, rules, vintage, created, computed = created } = input;
  const isNewest = quarter === panel.firstQuarter + panel.quarters.length - 1;
  const basis = isNewest ? basisOf(quarter, created, computed) : 'reconstructed';
  const index = isNewest
    ? `Uses the index up to ${quarterName(quarter)}, in its vintage of ${vintage}.`
    : `Reconstructed, pseudo-out-of-sample: uses the index up to ${quarterName(quarter)} only, but as the vintage of ` +
      `${vintage} has it, with the revisions made since.`;
  const substitution = chosen.substitution === undefined ? '' : ` ${chosen.substitution}`;
  return {
    id: runId(quarter),
    status: 'completed',
    model_version: modelVersion(chosen.model),
    run_at: runAt(quarter, created),
    horizon_months: HORIZON_MONTHS,
    features: chosen.model.features,
    notes: `${index}${macroNote(input, quarter)} ${markets} of ${panel.markets.length} markets forecast.${substitution}`,
    basis,
    vintage,
    data_through: quarterStart(quarter),
    computed_at: toTimestamp(computed),
    published_at: toTimestamp(created),
    rules: toRunRules(rules),
    ...(coefficients && {
      coefficients: Object.entries(coefficients).map(([name, value]) => ({
        name,
        value: Number(value.toPrecision(6)),
      })),
    }),
  };
};

/** The quarter of a run's id, as counted by `quarterIndex`. */
export const quarterOfRun = (id: number): number => quarterIndex(Math.floor(id / 10), id % 10);

/** Earlier forecasts with the realized values that were published since. */
const withRealized = (forecasts: readonly Forecast[], { panel, vintage }: RunsInput): Forecast[] => {
  const place = new Map(panel.markets.map(({ cbsa }, market) => [cbsa, market]));
  return forecasts.map((row) => {
    const market = place.get(row.cbsa);
    const now = market === undefined ? undefined : realizedIn(panel, vintage, quarterOfRun(row.run_id), market);
    return now === undefined || now.realized === null ? row : { ...row, ...now };
  });
};

/**
 * Runs the model over the whole panel. Adds a run for each quarter of the span that has forecasts and no run yet.
 *
 * The run at the newest quarter of the index is `published` if it is in time. All other runs are `reconstructed`, which
 * makes them pseudo-out-of-sample: they use only quarters up to their own, but in this vintage, with later revisions.
 * Numbers are rounded before the rules use them, so that the served numbers lead to the served signal and grade.
 * @throws OperatorError if no quarter of the span has a forecast, or the panel lacks an input of the model
 */
export const makeRuns = (input: RunsInput): Runs => {
  const { panel, options, span, vintage, kept = { runs: [], forecasts: [] } } = input;
  if (panel.quarters.length === 0) throw new OperatorError(emptyMessage(input));
  const chosen = chooseModel(panel, input.model);
  const making: Making = { ...input, chosen, benchmark: [...walk(persistence, panel, options)] };
  const origins = inSpan(span, calibrate(panel, [...walk(chosen.model, panel, options)]).filter(hasForecast));
  if (origins.length === 0) throw new OperatorError(emptyMessage(input));

  const there = new Set(kept.runs.map(({ id }) => id));
  const missing = origins.filter(({ quarter }) => !there.has(runId(quarter)));
  const made = missing.map((origin) => ({ origin, rows: forecastsAt(origin, making) }));
  const runs = [...kept.runs, ...made.map(({ origin, rows }) => runOf(origin, rows.length, making))];
  runs.sort((a, b) => a.id - b.id);
  const forecasts = [...withRealized(kept.forecasts, input), ...made.flatMap(({ rows }) => rows)];
  forecasts.sort((a, b) => a.run_id - b.run_id || compareScalars(a.cbsa, b.cbsa));
  return {
    added: missing.map(({ quarter }) => runId(quarter)),
    runs,
    forecasts,
    backtest: backtestOf({ runs, forecasts, benchmark: persistence.name, vintage }),
  };
};

const hasForecast = ({ point }: Origin): boolean => point.some((value) => !Number.isNaN(value));

/** The markets with the figures of the newest completed run, or null for a market without a forecast. */
export const withNewestRun = (
  markets: readonly Market[],
  { runs, forecasts }: Pick<Runs, 'runs' | 'forecasts'>,
): Market[] => {
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
