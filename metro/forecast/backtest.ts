/** The rolling-realized backtest: what completed runs said against what was published since. */
import type { Backtest, Forecast, ForecastRun } from '../collections.js';
import { rounded } from '../rounding.js';

/** A forecast whose target has been published, with the benchmark's point for the same pair. In percent. */
export interface ScoredForecast {
  readonly point: number;
  readonly lower_80: number;
  readonly upper_80: number;
  readonly realized: number;
  readonly benchmark: number;
}

export interface Scores {
  readonly n: number;
  readonly mae_pp: number;
  readonly rmse_pp: number;
  /** Mean of realized - point. */
  readonly bias_pp: number;
  readonly coverage_80: number;
  readonly interval_score_80: number;
  /** Share of forecasts that rose exactly where the index did. */
  readonly direction_hit_rate: number;
  readonly benchmark_mae_pp: number;
  /** 1 - MAE / benchmark's MAE; 0 where the benchmark made no error. */
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

/** Scores of one forecast or more; undefined without any. */
export const scoresOf = (forecasts: readonly ScoredForecast[]): Scores | undefined => {
  const n = forecasts.length;
  if (n === 0) return undefined;
  const mean = (of: (forecast: ScoredForecast) => number) => forecasts.reduce((sum, row) => sum + of(row), 0) / n;
  const mae = mean(({ realized, point }) => Math.abs(realized - point));
  const benchmark = mean((row) => Math.abs(row.realized - row.benchmark));
  return {
    n,
    mae_pp: mae,
    rmse_pp: Math.sqrt(mean(({ realized, point }) => (realized - point) ** 2)),
    bias_pp: mean(({ realized, point }) => realized - point),
    coverage_80: mean((row) => Number(row.lower_80 <= row.realized && row.realized <= row.upper_80)),
    interval_score_80: mean((row) => intervalScore(row.lower_80, row.upper_80, row.realized)),
    direction_hit_rate: mean(({ realized, point }) => Number(realized > 0 === point > 0)),
    benchmark_mae_pp: benchmark,
    skill_mae: benchmark === 0 ? 0 : 1 - mae / benchmark,
  };
};

export interface BacktestInput {
  readonly runs: readonly ForecastRun[];
  readonly forecasts: readonly Forecast[];
  /** The benchmark's point for the pair of a forecast, in percent; `NaN` where it has none. */
  readonly benchmark: { readonly name: string; point(forecast: Forecast): number };
  /** The vintage that realized values were read from. */
  readonly vintage: string;
}

/** Whether the moments span 12 months or more. RFC 3339 in UTC, which orders as text. */
const spanTwelveMonths = (moments: readonly string[]): boolean => {
  const [first] = moments.toSorted();
  if (first === undefined) return false;
  const end = new Date(first);
  end.setUTCFullYear(end.getUTCFullYear() + 1);
  return moments.some((moment) => Date.parse(moment) >= end.getTime());
};

/**
 * The backtest row over the completed runs of one model; undefined while they span under 12 months, or when no
 * target has been published. A forecast without bounds, or without a benchmark, is not scored, so that all
 * figures are of the same pairs. `as_of` is the newest completed run's moment.
 */
export const backtestOf = ({ runs, forecasts, benchmark, vintage }: BacktestInput): Backtest | undefined => {
  const completed = new Map(runs.filter(({ status }) => status === 'completed').map((run) => [run.id, run]));
  const moments = [...completed.values()].map((run) => run.run_at);
  if (!spanTwelveMonths(moments)) return undefined;

  const rows: Forecast[] = [];
  const scored: ScoredForecast[] = [];
  for (const forecast of forecasts) {
    const { point, lower_80, upper_80, realized } = forecast;
    const naive = benchmark.point(forecast);
    if (!completed.has(forecast.run_id) || realized === null || lower_80 === null || upper_80 === null) continue;
    if (Number.isNaN(naive)) continue;
    rows.push(forecast);
    scored.push({ point, lower_80, upper_80, realized, benchmark: naive });
  }
  const scores = scoresOf(scored);
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
    benchmark: { name: benchmark.name, mae_pp: rounded(scores.benchmark_mae_pp) },
    skill_mae: rounded(scores.skill_mae),
    realized_vintage: vintage,
  };
};
