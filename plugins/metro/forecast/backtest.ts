/** The rolling-realized backtest: forecasts of completed runs compared with the values published later. */
import type { Backtest, Forecast, ForecastRun } from '../collections.js';
import { rounded } from '../rounding.js';

/** A forecast whose target has been published, and the benchmark's forecast of the same target. In percent. */
export interface ScoredForecast {
  readonly point: number;
  readonly lower_80: number;
  readonly upper_80: number;
  readonly realized: number;
  readonly benchmark: number;
}

export interface Scores {
  readonly n: number;
  /** Realized values below 0, and how many of them had a point forecast below 0. */
  readonly declines: number;
  readonly declines_called: number;
  /** Share of realized values above 0: the hit rate of a constant forecast of "up". */
  readonly base_rate_up: number;
  readonly mae_pp: number;
  readonly rmse_pp: number;
  /** Mean of realized - point. */
  readonly bias_pp: number;
  readonly coverage_80: number;
  readonly interval_score_80: number;
  /** Share of forecasts with the direction of the realized change. */
  readonly direction_hit_rate: number;
  readonly benchmark_mae_pp: number;
  readonly benchmark_bias_pp: number;
  readonly benchmark_hit_rate: number;
  /** 1 - MAE / MAE of the benchmark. 0 if the benchmark made no error. */
  readonly skill_mae: number;
}

/** Cost of a percentage point outside an 80% interval: 2 / (1 - 0.8). */
const MISS_COST = 10;

/**
 * The interval score of an 80% interval: its width, and 10 x how far the outcome fell outside. Lower is better.
 * Source: Gneiting and Raftery, "Strictly Proper Scoring Rules, Prediction, and Estimation", JASA 102, 2007.
 */
export const intervalScore = (lower: number, upper: number, realized: number): number =>
  upper - lower + MISS_COST * Math.max(0, lower - realized, realized - upper);

/** The scores of forecasts. Undefined for an empty list. */
export const scoresOf = (forecasts: readonly ScoredForecast[]): Scores | undefined => {
  const n = forecasts.length;
  if (n === 0) return undefined;
  const mean = (of: (forecast: ScoredForecast) => number) => forecasts.reduce((sum, row) => sum + of(row), 0) / n;
  const mae = mean(({ realized, point }) => Math.abs(realized - point));
  const benchmark = mean((row) => Math.abs(row.realized - row.benchmark));
  const count = (of: (forecast: ScoredForecast) => boolean) => forecasts.filter(of).length;
  return {
    n,
    declines: count(({ realized }) => realized < 0),
    declines_called: count(({ realized, point }) => realized < 0 && point < 0),
    base_rate_up: mean(({ realized }) => Number(realized > 0)),
    mae_pp: mae,
    rmse_pp: Math.sqrt(mean(({ realized, point }) => (realized - point) ** 2)),
    bias_pp: mean(({ realized, point }) => realized - point),
    coverage_80: mean((row) => Number(row.lower_80 <= row.realized && row.realized <= row.upper_80)),
    interval_score_80: mean((row) => intervalScore(row.lower_80, row.upper_80, row.realized)),
    direction_hit_rate: mean(({ realized, point }) => Number(realized > 0 === point > 0)),
    benchmark_mae_pp: benchmark,
    benchmark_bias_pp: mean((row) => row.realized - row.benchmark),
    benchmark_hit_rate: mean((row) => Number(row.realized > 0 === row.benchmark > 0)),
    skill_mae: benchmark === 0 ? 0 : 1 - mae / benchmark,
  };
};

/** A stored forecast with all values that scoring needs. */
export type Scorable = Forecast & ScoredForecast;

/**
 * Returns the forecasts to score: of completed runs of the newest run's model, with a published target. Forecasts without
 * bounds or benchmark are left out, so that all scores use the same pairs.
 */
export const scorable = (runs: readonly ForecastRun[], forecasts: readonly Forecast[]): Scorable[] => {
  const completed = runs.filter(({ status }) => status === 'completed');
  const newest = completed.toSorted((a, b) => (a.run_at < b.run_at ? -1 : 1)).at(-1);
  const scored = new Set(completed.filter((run) => run.model_version === newest?.model_version).map(({ id }) => id));
  const known = (value: number | null | undefined): boolean => typeof value === 'number';
  return forecasts.filter(
    (row): row is Scorable =>
      scored.has(row.run_id) && [row.realized, row.lower_80, row.upper_80, row.benchmark].every(known),
  );
};

export interface BacktestInput {
  readonly runs: readonly ForecastRun[];
  readonly forecasts: readonly Forecast[];
  /** The model that the forecasts' `benchmark` comes from. */
  readonly benchmark: string;
  /** The vintage of the realized values. */
  readonly vintage: string;
}

/** Whether the times span at least 12 months. RFC 3339 in UTC, which sorts as text. */
const spanTwelveMonths = (moments: readonly string[]): boolean => {
  const [first] = moments.toSorted();
  if (first === undefined) return false;
  const end = new Date(first);
  end.setUTCFullYear(end.getUTCFullYear() + 1);
  return moments.some((moment) => Date.parse(moment) >= end.getTime());
};

/**
 * The backtest row over the completed runs of the newest run's model; undefined while all completed runs span under 12
 * months, or when no target has been published. `as_of` is the newest completed run's moment.
 */
export const backtestOf = ({ runs, forecasts, benchmark, vintage }: BacktestInput): Backtest | undefined => {
  const moments = runs.filter(({ status }) => status === 'completed').map((run) => run.run_at);
  if (!spanTwelveMonths(moments)) return undefined;
  const rows = scorable(runs, forecasts);
  const scores = scoresOf(rows);
  const [example] = rows;
  if (!scores || !example) return undefined;

  const targets = rows.map((row) => row.target_period).sort();
  return {
    as_of: moments.toSorted().at(-1) as string,
    model_version: example.model_version,
    horizon_months: example.horizon_months,
    window_start: targets[0] as string,
    window_end: targets.at(-1) as string,
    n: scores.n,
    n_metros: new Set(rows.map((row) => row.cbsa)).size,
    n_runs: new Set(rows.map((row) => row.run_id)).size,
    mae_pp: rounded(scores.mae_pp),
    rmse_pp: rounded(scores.rmse_pp),
    bias_pp: rounded(scores.bias_pp),
    coverage_80: rounded(scores.coverage_80),
    interval_score_80: rounded(scores.interval_score_80),
    direction_hit_rate: rounded(scores.direction_hit_rate),
    benchmark: { name: benchmark, mae_pp: rounded(scores.benchmark_mae_pp) },
    skill_mae: rounded(scores.skill_mae),
    realized_vintage: vintage,
    base_rate_up: rounded(scores.base_rate_up),
    declines: scores.declines,
    declines_called: scores.declines_called,
  };
};
