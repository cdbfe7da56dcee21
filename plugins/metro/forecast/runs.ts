/** Creates the documents of a model's runs. Each quarter has one run, which uses only data up to that quarter. */

import { compareScalars } from 'metro-forecast-api/adapter';
import { OperatorError } from 'metro-forecast-api/plugin';
import type { Backtest, Forecast, ForecastRun, Market, Signal } from '../collections.js';
import { quarterIndex, quarterName, quarterStart } from '../periods.js';
import { basisOf, indexKnownOn, indexReleaseOf } from '../release-calendar.js';
import { rounded } from '../rounding.js';
import { type Benchmark, backtestOf } from './backtest.js';
import { type ForecastModel, type ForecastOptions, HORIZON_MONTHS, HORIZON_QUARTERS, modelVersion } from './model.js';
import { ar1Nation, persistence, shrunkMean } from './models/benchmarks.js';
import { type ChosenModel, chooseModel } from './models/index.js';
import type { Panel } from './panel.js';
import { declineProbability, type Outlook, type Rules, riskGradeOf, signalOf, toRunRules } from './rules.js';
import { macroKnownAt, type Origin, realizedChange, walk } from './walk.js';

/** The quarters of new runs: the newest `last` quarters between `from` and `to`, both included. */
export interface Span {
  readonly from?: number;
  readonly to?: number;
  readonly last?: number;
}

/** The default span, which the methodology describes. */
export const defaultSpan = { from: quarterIndex(2005, 4) } satisfies Span;

export interface RunsInput {
  readonly panel: Panel;
  /** The model to run. Default: the default model, if the panel has its inputs. */
  readonly model?: ForecastModel | undefined;
  readonly options: ForecastOptions;
  readonly rules: Rules;
  readonly span: Span;
  /** The vintage of the panel, `YYYY-MM-DD`. */
  readonly vintage: string;
  /** The time at which the runs are published. */
  readonly created: Date;
  /** The time at which the runs are computed. Default: `created`. */
  readonly computed?: Date | undefined;
  /** Existing runs to keep, with their forecasts. Their quarters get no new runs. */
  readonly kept?: Pick<Runs, 'runs' | 'forecasts'> | undefined;
}

/** The inputs that all runs share. */
interface Making extends RunsInput {
  readonly chosen: ChosenModel;
  /** The forecasts of each benchmark by quarter of the panel. The keys are the names of their columns. */
  readonly benchmarks: Readonly<Record<Benchmark, readonly Origin[]>>;
}

/** Earlier and new runs, and their forecasts, in key order. */
export interface Runs {
  /** The ids of the new runs. */
  readonly added: readonly number[];
  readonly runs: readonly ForecastRun[];
  readonly forecasts: readonly Forecast[];
  readonly backtest: Backtest | undefined;
}

/** Derives the id of a run from its quarter, such as 20054 for 2005Q4. It does not depend on the span. */
const runId = (quarter: number): number => Math.floor(quarter / 4) * 10 + (quarter % 4) + 1;

const toTimestamp = (time: Date): string => time.toISOString().replace('.000Z', 'Z');

/** Returns the time at which the index of a quarter is known, or the publication of the run if that is earlier. */
const runAt = (quarter: number, created: Date): string =>
  toTimestamp(new Date(Math.min(Date.parse(indexKnownOn(quarter)), created.getTime())));

/** Replaces `NaN` by null. */
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

/** An origin with the rounded forecasts and the signals that its run serves, by market. */
interface ServedOrigin extends Origin {
  readonly served: readonly ((Outlook & { readonly signal: Signal }) | undefined)[];
  /** The share of markets whose signal changed, among those with both signals. `NaN` if there are none. */
  readonly signalChanges: number;
}

/**
 * Adds the signals. A signal depends on the signal of the previous quarter: in the published run for the newest
 * quarter, and in the reconstruction for all others.
 */
const withSignals = (origins: readonly Origin[], { panel, rules, kept }: RunsInput): ServedOrigin[] => {
  let before: readonly (Signal | null | undefined)[] = [];
  return origins.map((origin) => {
    const rows = isNewest(origin.quarter, panel)
      ? kept?.forecasts.filter(({ run_id }) => run_id === runId(origin.quarter - 1))
      : undefined;
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

const isNewest = (quarter: number, { firstQuarter, quarters }: Panel): boolean =>
  quarter === firstQuarter + quarters.length - 1;

/** Returns the forecasts of an origin's run, sorted by code. */
const forecastsAt = ({ quarter, served, contributions }: ServedOrigin, input: Making): Forecast[] => {
  const { panel, chosen, rules, vintage, created, benchmarks } = input;
  const rows: Forecast[] = [];
  for (const [market, { cbsa }] of panel.markets.entries()) {
    const row = served[market];
    if (!row) continue;
    const { signal, ...outlook } = row;
    const decline = declineProbability(outlook);
    const decline_probability = decline === null ? null : rounded(decline);
    const benchmarkPoint = (name: Benchmark) => orNull(benchmarks[name][quarter - panel.firstQuarter]?.point[market]);
    rows.push({
      run_id: runId(quarter),
      cbsa,
      run_at: runAt(quarter, created),
      model_version: modelVersion(chosen.model),
      horizon_months: HORIZON_MONTHS,
      target_period: quarterStart(quarter + HORIZON_QUARTERS),
      ...outlook,
      signal,
      risk_score: riskGradeOf(decline_probability, rules),
      ...realizedIn(panel, vintage, quarter, market),
      decline_probability,
      benchmark: benchmarkPoint('benchmark'),
      ar1_nation: benchmarkPoint('ar1_nation'),
      shrunk_mean: benchmarkPoint('shrunk_mean'),
      ...(contributions && {
        contributions: Object.values(contributions).map((values) => rounded(values[market] as number)),
      }),
    });
  }
  return rows.sort((a, b) => compareScalars(a.cbsa, b.cbsa));
};

/** Returns the realized value of a market's forecast, as published in this vintage. */
const realizedIn = (panel: Panel, vintage: string, quarter: number, market: number) => {
  const realized = orNull(realizedChange(panel, quarter, market));
  return { realized, realized_as_of: realized === null ? null : vintage };
};

/** Returns a note about the last day for which the macro series of a run were known. */
const macroNote = ({ panel, chosen }: Making, quarter: number): string =>
  [...macroKnownAt(panel, chosen.model.series, quarter)]
    .map(([id, values]) => ` ${id} up to ${values.at(-1)?.start.slice(0, 7) ?? 'nothing'}.`)
    .join('');

/** Returns an input of a run, with its mean contribution to the point forecasts. */
const inputOf = (name: string, contributions: Float64Array) => {
  const known = contributions.filter((value) => !Number.isNaN(value));
  return { name, mean_contribution_pp: rounded(known.reduce((sum, value) => sum + value, 0) / known.length) };
};

const runOf = (
  { quarter, coefficients, contributions, signalChanges }: ServedOrigin,
  markets: number,
  input: Making,
): ForecastRun => {
  const { panel, chosen, rules, vintage, created, computed = created } = input;
  const newest = isNewest(quarter, panel);
  const basis = newest ? basisOf(quarter, created, computed) : 'reconstructed';
  const index = newest
    ? `Uses the index up to ${quarterName(quarter)}, in its vintage of ${vintage}.`
    : `Reconstructed, pseudo-out-of-sample: uses the index up to ${quarterName(quarter)} only, but as the vintage of ` +
      `${vintage} has it, with the revisions made since.`;
  const late =
    newest && basis === 'reconstructed'
      ? ` Reconstructed, since FHFA released ${quarterName(quarter + 1)} on ${indexReleaseOf(quarter + 1)}, before this run was published.`
      : '';
  const substitution = chosen.substitution === undefined ? '' : ` ${chosen.substitution}`;
  return {
    id: runId(quarter),
    status: 'completed',
    model_version: modelVersion(chosen.model),
    run_at: runAt(quarter, created),
    horizon_months: HORIZON_MONTHS,
    features: chosen.model.features,
    notes: `${index}${late}${macroNote(input, quarter)} ${markets} of ${panel.markets.length} markets forecast.${substitution}`,
    basis,
    vintage,
    data_through: quarterStart(quarter),
    computed_at: toTimestamp(computed),
    published_at: toTimestamp(created),
    rules: toRunRules(rules),
    ...(!Number.isNaN(signalChanges) && { signal_change_share: rounded(signalChanges) }),
    ...(coefficients && {
      coefficients: Object.entries(coefficients).map(([name, value]) => ({
        name,
        value: Number(value.toPrecision(6)),
      })),
    }),
    ...(contributions && { inputs: Object.entries(contributions).map(([name, values]) => inputOf(name, values)) }),
  };
};

/** Returns the quarter of a run, as computed by `quarterIndex`, from its id. */
export const quarterOfRun = (id: number): number => quarterIndex(Math.floor(id / 10), id % 10);

/** Adds the realized values that have been published in the meantime to earlier forecasts. */
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
  const benchmarks = {
    benchmark: [...walk(persistence, panel, options)],
    ar1_nation: [...walk(ar1Nation, panel, options)],
    shrunk_mean: [...walk(shrunkMean, panel, options)],
  };
  const making: Making = { ...input, chosen, benchmarks };
  const forecastOrigins = [...walk(chosen.model, panel, options)].filter(hasForecast);
  const origins = inSpan(span, withSignals(forecastOrigins, input));
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
    backtest: backtestOf({ runs, forecasts, vintage }),
  };
};

const hasForecast = ({ point }: Origin): boolean => point.some((value) => !Number.isNaN(value));

/** Sets the figures of the newest completed run in the markets, or null in a market without a forecast. */
export const withNewestRun = (
  markets: readonly Market[],
  { runs, forecasts }: Pick<Runs, 'runs' | 'forecasts'>,
): Market[] => {
  const newest = runs.findLast(({ status }) => status === 'completed');
  const byMarket = new Map(forecasts.filter(({ run_id }) => run_id === newest?.id).map((row) => [row.cbsa, row]));
  return markets.map((market) => {
    const forecast = byMarket.get(market.cbsa);
    return {
      ...market,
      signal: forecast?.signal ?? null,
      risk_score: forecast?.risk_score ?? null,
      forecast_12m: forecast?.point ?? null,
      lower_80: forecast?.lower_80 ?? null,
      upper_80: forecast?.upper_80 ?? null,
      decline_probability: forecast?.decline_probability ?? null,
      target_period: forecast?.target_period ?? null,
      run_id: forecast?.run_id ?? null,
      basis: forecast ? (newest?.basis ?? 'reconstructed') : null,
    };
  });
};
