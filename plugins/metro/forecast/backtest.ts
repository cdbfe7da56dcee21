import type { Backtest, Forecast, ForecastRun } from '../collections.js';
import { rounded } from '../rounding.js';

const BENCHMARKS = { benchmark: 'persistence', ar1_nation: 'ar1_nation', shrunk_mean: 'shrunk_mean' } as const;
export type Benchmark = keyof typeof BENCHMARKS;

/** `decline_probability` ranges from 0 to 1. All other values are in percent. */
export interface ScoredForecast extends Readonly<Record<Benchmark, number>> {
  readonly point: number;
  readonly lower_80: number;
  readonly upper_80: number;
  readonly realized: number;
  readonly decline_probability: number;
}

interface BenchmarkScores {
  readonly name: (typeof BENCHMARKS)[Benchmark];
  readonly mae_pp: number;
  readonly bias_pp: number;
  readonly direction_hit_rate: number;
  /**
   * 1 minus the ratio of the model's mean absolute error (MAE) to the MAE of the benchmark. 0 if the benchmark made no
   * error.
   */
  readonly skill_mae: number;
}

export interface Scores {
  readonly n: number;
  readonly declines: number;
  readonly declines_called: number;
  readonly base_rate_up: number;
  readonly mae_pp: number;
  readonly rmse_pp: number;
  readonly bias_pp: number;
  readonly coverage_80: number;
  readonly interval_score_80: number;
  readonly direction_hit_rate: number;
  readonly brier_score: number;
  readonly log_loss: number;
  readonly benchmarks: Readonly<Record<Benchmark, BenchmarkScores>>;
}

/** Penalty of the interval score for each percentage point outside an 80% interval: 2 / (1 - 0.8). */
const MISS_COST = 10;

/**
 * Returns the interval score of an 80% interval in percentage points. Lower is better. Source: Gneiting and Raftery,
 * "Strictly Proper Scoring Rules, Prediction, and Estimation", 2007.
 */
export const intervalScore = (lower: number, upper: number, realized: number): number =>
  upper - lower + MISS_COST * Math.max(0, lower - realized, realized - upper);

const LEAST_PROBABILITY = 0.001;

const logLoss = ({ decline_probability: p, realized }: ScoredForecast): number =>
  -Math.log(Math.max(LEAST_PROBABILITY, realized < 0 ? p : 1 - p));

export const scoresOf = (forecasts: readonly ScoredForecast[]): Scores | undefined => {
  const n = forecasts.length;
  if (n === 0) return undefined;
  const mean = (of: (forecast: ScoredForecast) => number) => forecasts.reduce((sum, row) => sum + of(row), 0) / n;
  const mae = mean(({ realized, point }) => Math.abs(realized - point));
  const benchmarkOf = (column: Benchmark): BenchmarkScores => {
    const benchmark = mean((row) => Math.abs(row.realized - row[column]));
    return {
      name: BENCHMARKS[column],
      mae_pp: benchmark,
      bias_pp: mean((row) => row.realized - row[column]),
      direction_hit_rate: mean((row) => Number(row.realized > 0 === row[column] > 0)),
      skill_mae: benchmark === 0 ? 0 : 1 - mae / benchmark,
    };
  };
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
    brier_score: mean((row) => (row.decline_probability - Number(row.realized < 0)) ** 2),
    log_loss: mean(logLoss),
    benchmarks: {
      benchmark: benchmarkOf('benchmark'),
      ar1_nation: benchmarkOf('ar1_nation'),
      shrunk_mean: benchmarkOf('shrunk_mean'),
    },
  };
};

export type Scorable = Forecast & ScoredForecast;

/** Skips forecasts without bounds or benchmarks, so that all scores cover the same forecasts. */
export const scorable = (runs: readonly ForecastRun[], forecasts: readonly Forecast[]): Scorable[] => {
  const completed = runs.filter(({ status }) => status === 'completed');
  const newest = completed.toSorted((a, b) => (a.run_at < b.run_at ? -1 : 1)).at(-1);
  const scored = new Set(completed.filter((run) => run.model_version === newest?.model_version).map(({ id }) => id));
  const known = (value: number | null | undefined): boolean => typeof value === 'number';
  return forecasts.filter(
    (row): row is Scorable =>
      scored.has(row.run_id) &&
      [row.realized, row.lower_80, row.upper_80, row.decline_probability].every(known) &&
      [row.benchmark, row.ar1_nation, row.shrunk_mean].every(known),
  );
};

interface BacktestInput {
  readonly runs: readonly ForecastRun[];
  readonly forecasts: readonly Forecast[];
  readonly vintage: string;
}

const spanTwelveMonths = (moments: readonly string[]): boolean => {
  const [first] = moments.toSorted();
  if (first === undefined) return false;
  const end = new Date(first);
  end.setUTCFullYear(end.getUTCFullYear() + 1);
  return moments.some((moment) => Date.parse(moment) >= end.getTime());
};

/** Returns undefined if no outcome is published, or if the completed runs span less than 12 months. */
export const backtestOf = ({ runs, forecasts, vintage }: BacktestInput): Backtest | undefined => {
  const moments = runs.filter(({ status }) => status === 'completed').map((run) => run.run_at);
  if (!spanTwelveMonths(moments)) return undefined;
  const rows = scorable(runs, forecasts);
  const scores = scoresOf(rows);
  const [example] = rows;
  if (!scores || !example) return undefined;

  const { benchmark: persistence } = scores.benchmarks;
  const targets = rows.map((row) => row.target_period).sort();
  const published = new Set(runs.filter(({ basis }) => basis === 'published').map(({ id }) => id));
  const n_published = rows.filter(({ run_id }) => published.has(run_id)).length;
  return {
    as_of: moments.toSorted().at(-1) as string,
    model_version: example.model_version,
    horizon_months: example.horizon_months,
    window_start: targets[0]!,
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
    benchmark: { name: persistence.name, mae_pp: rounded(persistence.mae_pp) },
    skill_mae: rounded(persistence.skill_mae),
    realized_vintage: vintage,
    base_rate_up: rounded(scores.base_rate_up),
    declines: scores.declines,
    declines_called: scores.declines_called,
    n_published,
    n_reconstructed: scores.n - n_published,
    brier_score: rounded(scores.brier_score),
    benchmarks: Object.values(scores.benchmarks)
      .toSorted((a, b) => a.mae_pp - b.mae_pp)
      .map(({ name, mae_pp, direction_hit_rate, skill_mae }) => ({
        name,
        mae_pp: rounded(mae_pp),
        direction_hit_rate: rounded(direction_hit_rate),
        skill_mae: rounded(skill_mae),
      })),
  };
};
