/** Runs of a model over a panel, as documents of the dataset: one run per quarter, each from data up to it. */

import { compareScalars } from 'metro-forecast-api/adapter';
import { OperatorError } from 'metro-forecast-api/plugin';
import type { Backtest, Forecast, ForecastRun, Market } from '../collections.js';
import { periodEnd, quarterIndex, quarterName, quarterStart } from '../periods.js';
import { rounded } from '../rounding.js';
import { backtestOf } from './backtest.js';
import { createDeclineCalibration } from './decline-calibration.js';
import { type ForecastModel, type ForecastOptions, HORIZON_MONTHS, HORIZON_QUARTERS, modelVersion } from './model.js';
import { type ChosenModel, chooseModel } from './models/index.js';
import { persistence } from './models/persistence.js';
import type { Panel } from './panel.js';
import { declineProbability, type Rules, riskGradeOf, signalOf, toRunRules } from './rules.js';
import { macroKnownAt, type Origin, realizedChange, walk } from './walk.js';

/** The quarters to make runs at: those from `from` to `to`, both included, and of these the newest `last`. */
export interface Span {
  readonly from?: number;
  readonly to?: number;
  readonly last?: number;
}

export const defaultSpan: Span = { last: 40 };

export interface RunsInput {
  readonly panel: Panel;
  /** Absent: the default where the panel has its inputs. */
  readonly model?: ForecastModel | undefined;
  readonly options: ForecastOptions;
  readonly rules: Rules;
  readonly span: Span;
  /** The vintage of the panel, `YYYY-MM-DD`. */
  readonly vintage: string;
  /** When the runs are published. */
  readonly created: Date;
  /** Runs that stay as they are, and their forecasts: none is made at their quarters. */
  readonly kept?: Pick<Runs, 'runs' | 'forecasts'> | undefined;
}

/** What a run is made of, beside the quarter. */
interface Making extends RunsInput {
  readonly chosen: ChosenModel;
  readonly benchmark: readonly Origin[];
}

/** Earlier and new runs together, and their forecasts, each in key order. */
export interface Runs {
  /** Numbers of the runs that are new. */
  readonly added: readonly number[];
  readonly runs: readonly ForecastRun[];
  readonly forecasts: readonly Forecast[];
  readonly backtest: Backtest | undefined;
}

/** A run's id names its quarter, and so stays the same whatever the span: 20054 for 2005Q4. */
const runId = (quarter: number): number => Math.floor(quarter / 4) * 10 + (quarter % 4) + 1;

/**
 * When a quarter's index is known: the first day of the third month after the quarter. FHFA publishes it in
 * the last week of the second. Never after the publication that carries the run.
 */
const runAt = (quarter: number, created: Date): string => {
  const known = Date.parse(`${periodEnd(quarterStart(quarter + 1), 'quarterly').slice(0, 7)}-01T00:00:00Z`);
  return new Date(Math.min(known, created.getTime())).toISOString().replace('.000Z', 'Z');
};

/** Null for a number that is not there. */
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

/** An origin, and the calibrated probabilities of a decline by market; `NaN` where there are no bounds. */
interface CalibratedOrigin extends Origin {
  readonly decline: Float64Array;
}

/**
 * Calibrates the probabilities at each origin by what has come true of the forecasts of four quarters before and more.
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

/** What an origin's run says of its markets, by code. */
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

/** What has come true of a market's forecast, in this vintage. */
const realizedIn = (panel: Panel, vintage: string, quarter: number, market: number) => {
  const realized = orNull(realizedChange(panel, quarter, market));
  return { realized, realized_as_of: realized === null ? null : vintage };
};

/** How far the series that a run reads were known. */
const macroNote = ({ panel, chosen }: Making, quarter: number): string =>
  [...macroKnownAt(panel, chosen.model.series, quarter)]
    .map(([id, values]) => ` ${id} up to ${values.at(-1)?.start.slice(0, 7) ?? 'nothing'}.`)
    .join('');

const runOf = ({ quarter, coefficients }: Origin, markets: number, input: Making): ForecastRun => {
  const { panel, chosen, rules, vintage, created } = input;
  const published = quarter === panel.firstQuarter + panel.quarters.length - 1;
  const index = published
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
    basis: published ? 'published' : 'reconstructed',
    vintage,
    published_at: created.toISOString().replace('.000Z', 'Z'),
    rules: toRunRules(rules),
    ...(coefficients && {
      coefficients: Object.entries(coefficients).map(([name, value]) => ({
        name,
        value: Number(value.toPrecision(6)),
      })),
    }),
  };
};

/** The quarter of a run's number, as counted by `quarterIndex`. */
export const quarterOfRun = (id: number): number => quarterIndex(Math.floor(id / 10), id % 10);

/** Earlier forecasts as they were made, with the changes that have been published since. */
const withRealized = (forecasts: readonly Forecast[], { panel, vintage }: RunsInput): Forecast[] => {
  const place = new Map(panel.markets.map(({ cbsa }, market) => [cbsa, market]));
  return forecasts.map((row) => {
    const market = place.get(row.cbsa);
    const now = market === undefined ? undefined : realizedIn(panel, vintage, quarterOfRun(row.run_id), market);
    return now === undefined || now.realized === null ? row : { ...row, ...now };
  });
};

/**
 * Walks the model over the whole panel, and makes a run of each quarter of the span that has forecasts and no run yet.
 *
 * The run at the newest quarter of the index is made at its own time: published. Runs of earlier quarters are
 * reconstructions: pseudo-out-of-sample, a run sees only quarters up to its own, but in this vintage, with the
 * revisions made since. Numbers are rounded before the rules read them, so that a reader gets the same signal and grade
 * from what is served.
 * @throws OperatorError when no quarter of the span has a forecast, or the panel lacks what the model reads
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

/** The markets with the newest completed run's figures; null where it has none for a market. */
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
