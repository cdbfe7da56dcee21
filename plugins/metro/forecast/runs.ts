import { compareScalars } from 'metro-forecast-api/adapter';
import { OperatorError } from 'metro-forecast-api/plugin';
import { kindOf, METRO_KINDS } from '../areas.js';
import type { Backtest, Forecast, ForecastRun, Market } from '../collections.js';
import { quarterIndex, quarterName, quarterStart } from '../periods.js';
import { basisOf, indexReleaseOf } from '../release-calendar.js';
import { rounded } from '../rounding.js';
import { backtestOf } from './backtest.js';
import {
  type ForecastModel,
  type ForecastOptions,
  HORIZON_MONTHS,
  HORIZONS,
  type Horizon,
  modelVersion,
  WIDE_HORIZONS,
} from './model.js';
import { type ChosenModel, chooseModel } from './models/index.js';
import type { Panel } from './panel.js';
import { type Rules, toRunRules } from './rules.js';
import { createPanelRows, quarterOfRun, runAt, runId, type ServedOrigin, toTimestamp } from './run-rows.js';
import { macroKnownAt, type Origin } from './walk.js';

/** Selects the newest `last` quarters between `from` and `to`, inclusive. */
export interface Span {
  readonly from?: number;
  readonly to?: number;
  readonly last?: number;
}

/** The methodology page states the same default. */
export const defaultSpan = { from: quarterIndex(2005, 4) } satisfies Span;

export interface RunsInput {
  readonly panel: Panel;
  /** Panel of the nation and the states. The model is fitted to this panel separately from the panel of the metros. */
  readonly nationAndStates?: Panel | undefined;
  /** Default: the default model, or the fallback model if the panel lacks inputs of the default model. */
  readonly model?: ForecastModel | undefined;
  readonly options: ForecastOptions;
  readonly rules: Rules;
  readonly span: Span;
  readonly vintage: string;
  readonly created: Date;
  /** Time at which the runs are computed. Default: `created`. */
  readonly computed?: Date | undefined;
  /** The horizons to forecast. Default: all. */
  readonly horizons?: readonly Horizon[] | undefined;
  /** Existing runs and forecasts that are not recomputed. */
  readonly kept?: Pick<Runs, 'runs' | 'forecasts'> | undefined;
}

interface Making extends RunsInput {
  readonly chosen: ChosenModel;
}

export interface Runs {
  readonly added: readonly number[];
  readonly runs: readonly ForecastRun[];
  readonly forecasts: readonly Forecast[];
  readonly backtests: readonly Backtest[];
}

const inSpan = <T extends Origin>(
  { from = 0, to = Number.POSITIVE_INFINITY, last }: Span,
  origins: readonly T[],
): readonly T[] => {
  const within = origins.filter(({ quarter }) => quarter >= from && quarter <= to);
  return last === undefined ? within : within.slice(-last);
};

const emptyMessage = ({ panel, span, options }: RunsInput): string => {
  if (panel.quarters.length === 0) return 'There is nothing to forecast from: the dataset has no house price index.';
  const newest = newestQuarter(panel);
  const { from = panel.firstQuarter, to = newest } = span;
  return (
    `No market can be forecast in ${quarterName(from)} to ${quarterName(to)}: the index covers ` +
    `${quarterName(panel.firstQuarter)} to ${quarterName(newest)}, and a market needs ${options.minValues} values, ` +
    'including one for the quarter itself. Choose other quarters, or a lower --min-values.'
  );
};

const newestQuarter = ({ firstQuarter, quarters }: Panel): number => firstQuarter + quarters.length - 1;

const macroNote = ({ panel, chosen }: Making, quarter: number): string =>
  [...macroKnownAt(panel, chosen.model.series, quarter)]
    .map(([id, values]) => ` ${id} up to ${values.at(-1)?.start.slice(0, 7) ?? 'nothing'}.`)
    .join('');

const inputOf = (name: string, contributions: Float64Array) => {
  const known = contributions.filter((value) => !Number.isNaN(value));
  return { name, mean_contribution_pp: rounded(known.reduce((sum, value) => sum + value, 0) / known.length) };
};

const runOf = (
  { quarter, coefficients, contributions, signalChanges }: ServedOrigin,
  markets: number,
  horizon: Horizon,
  input: Making,
): ForecastRun => {
  const { panel, nationAndStates, chosen, rules, vintage, created, computed = created } = input;
  const all = panel.markets.length + (nationAndStates?.markets.length ?? 0);
  const newest = quarter === newestQuarter(panel);
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
    id: runId(quarter, horizon),
    status: 'completed',
    model_version: modelVersion(chosen.model),
    run_at: runAt(quarter, created),
    horizon_months: horizon,
    features: chosen.model.features,
    notes: `${index}${late}${macroNote(input, quarter)} ${markets} of ${all} markets forecast.${substitution}`,
    basis,
    vintage,
    data_through: quarterStart(quarter),
    computed_at: toTimestamp(computed),
    published_at: toTimestamp(created),
    rules: toRunRules(rules),
    ...(horizon === HORIZON_MONTHS && !Number.isNaN(signalChanges) && { signal_change_share: rounded(signalChanges) }),
    ...(coefficients && {
      coefficients: Object.entries(coefficients).map(([name, value]) => ({
        name,
        value: Number(value.toPrecision(6)),
      })),
    }),
    ...(contributions && { inputs: Object.entries(contributions).map(([name, values]) => inputOf(name, values)) }),
  };
};

/** @throws OperatorError if the horizon is 12 months and no quarter in the span can be forecast */
const runsAt = (horizon: Horizon, input: Making): Runs => {
  const { panel, chosen, options, span, vintage } = input;
  const nationAndStates = WIDE_HORIZONS.includes(horizon) ? input.nationAndStates : undefined;
  const kept = {
    runs: input.kept?.runs.filter(isOf(horizon)) ?? [],
    forecasts: input.kept?.forecasts.filter(isOf(horizon)) ?? [],
  };
  const shared = { ...input, model: chosen.model, newest: newestQuarter(panel), kept: kept.forecasts };
  const metros = createPanelRows({ ...shared, options: { ...options, horizon } });
  const wide =
    nationAndStates && createPanelRows({ ...shared, panel: nationAndStates, options: { ...options, horizon } });
  const origins = inSpan(span, metros.origins);
  const newest = origins.at(-1)?.quarter;
  if (newest === undefined && horizon === HORIZON_MONTHS) throw new OperatorError(emptyMessage(input));

  const there = new Set(kept.runs.map(({ id }) => id));
  const made = origins
    .filter(({ quarter }) => !there.has(runId(quarter, horizon)))
    .map((origin) => {
      const rows = [...(wide?.rowsAt(origin.quarter) ?? []), ...metros.rowsAt(origin.quarter)];
      return { run: runOf(origin, rows.length, horizon, { ...input, nationAndStates }), rows };
    });
  const earlier = metros.withRealized(kept.forecasts);
  const runs = [...kept.runs, ...made.map(({ run }) => run)].sort((a, b) => a.id - b.id);
  const forecasts = [...(wide?.withRealized(earlier) ?? earlier), ...made.flatMap(({ rows }) => rows)];
  forecasts.sort((a, b) => a.run_id - b.run_id || compareScalars(a.cbsa, b.cbsa));
  const backtest = backtestOf({ runs, forecasts: forecasts.filter(isOfMetro), vintage });
  const isStored = (id: number) => horizon === HORIZON_MONTHS || there.has(id) || quarterOfRun(id) === newest;
  return {
    added: made.map(({ run }) => run.id).filter(isStored),
    runs: runs.filter(({ id }) => isStored(id)),
    forecasts: forecasts.filter(({ run_id }) => isStored(run_id)),
    backtests: backtest ? [backtest] : [],
  };
};

/**
 * Runs the model over the panels. Adds a run for each quarter in the span that has metro forecasts and no run yet. For
 * horizons other than 12 months, only the newest run is added. The backtest still scores all quarters in the span.
 *
 * The run for the newest quarter is `published` if it is created early enough, see `basisOf`. All other runs are
 * `reconstructed`. A reconstructed run uses only data for quarters up to its own. This data comes from the current
 * vintage, so it includes later revisions.
 * @throws OperatorError if no quarter in the span can be forecast, or if the panel lacks an input of the requested
 *   model
 */
export const makeRuns = (input: RunsInput): Runs => {
  const { panel, horizons = HORIZONS } = input;
  if (panel.quarters.length === 0) throw new OperatorError(emptyMessage(input));
  const making = { ...input, chosen: chooseModel(panel, input.model) };
  const all = horizons.map((horizon) => runsAt(horizon, making));
  return {
    added: all.flatMap(({ added }) => added).sort((a, b) => a - b),
    runs: all.flatMap(({ runs }) => runs).sort((a, b) => a.id - b.id),
    forecasts: all
      .flatMap(({ forecasts }) => forecasts)
      .sort((a, b) => a.run_id - b.run_id || compareScalars(a.cbsa, b.cbsa)),
    backtests: all.flatMap(({ backtests }) => backtests),
  };
};

export const isOf =
  (horizon: number = HORIZON_MONTHS) =>
  ({ horizon_months }: { readonly horizon_months: number }): boolean =>
    horizon_months === horizon;

const isOfMetro = ({ cbsa }: Forecast): boolean => METRO_KINDS.includes(kindOf(cbsa));

export const withNewestRun = (
  markets: readonly Market[],
  { runs, forecasts }: Pick<Runs, 'runs' | 'forecasts'>,
): Market[] => {
  const newest = runs.filter(isOf()).findLast(({ status }) => status === 'completed');
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
