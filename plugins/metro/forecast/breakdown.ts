import { statesOf } from '../areas.js';
import { BASES, type Forecast, type ForecastRun, RISK_GRADES, SIGNALS } from '../collections.js';
import { quarterOf } from '../periods.js';
import { rounded } from '../rounding.js';
import { type Scorable, type Scores, scorable, scoresOf } from './backtest.js';
import { quartersOf } from './model.js';

export const BREAKDOWN_KEYS = ['year', 'quarter', 'grade', 'signal', 'state', 'size', 'probability', 'basis'] as const;
type BreakdownKey = (typeof BREAKDOWN_KEYS)[number];

const SIZES = [
  ['below 0', Number.NEGATIVE_INFINITY],
  ['0 to 2', 0],
  ['2 to 4', 2],
  ['4 to 6', 4],
  ['6 to 8', 6],
  ['8 and more', 8],
] as const;

const PROBABILITIES = Array.from({ length: 10 }, (_, tenth) => `${10 * tenth} to ${10 * tenth + 10}%`);

const QUARTERS = ['Q1', 'Q2', 'Q3', 'Q4'] as const;

/** Groups that are not listed here are sorted alphabetically. */
const ORDERS: Readonly<Partial<Record<BreakdownKey, readonly string[]>>> = {
  grade: RISK_GRADES,
  signal: SIGNALS,
  size: SIZES.map(([name]) => name),
  probability: PROBABILITIES,
  basis: BASES,
};

interface Named {
  readonly row: Scorable;
  /** Undefined if the area is no longer a market. */
  readonly name: string | undefined;
  readonly run: ForecastRun | undefined;
}

/**
 * A market in several states belongs to the group of each state. Undefined if the forecast has no signal, or no grade.
 */
const groupOf = ({ row, name, run }: Named, by: BreakdownKey): string | readonly string[] | undefined => {
  switch (by) {
    case 'year':
      return row.target_period.slice(0, 4);
    case 'quarter':
      return QUARTERS[(quarterOf(row.target_period) - quartersOf(row.horizon_months)) % QUARTERS.length];
    case 'grade':
      return row.risk_score ?? undefined;
    case 'signal':
      return row.signal ?? undefined;
    case 'state':
      return statesOf({ cbsa: row.cbsa, name: name ?? '' });
    case 'size':
      return SIZES.findLast(([, from]) => row.point >= from)?.[0];
    case 'probability':
      return PROBABILITIES[Math.min(9, Math.floor(10 * row.decline_probability))];
    case 'basis':
      return run?.basis ?? 'reconstructed';
  }
};

const mean = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0) / values.length;

const figuresOf = (group: string, rows: readonly Scorable[]) => {
  const scores = scoresOf(rows) as Scores;
  const { benchmark, ar1_nation, shrunk_mean } = scores.benchmarks;
  return {
    group,
    n: scores.n,
    mean_point: rounded(mean(rows.map(({ point }) => point))),
    mean_realized: rounded(mean(rows.map(({ realized }) => realized))),
    mae_pp: rounded(scores.mae_pp),
    benchmark_mae_pp: rounded(benchmark.mae_pp),
    ar1_nation_mae_pp: rounded(ar1_nation.mae_pp),
    shrunk_mean_mae_pp: rounded(shrunk_mean.mae_pp),
    bias_pp: rounded(scores.bias_pp),
    benchmark_bias_pp: rounded(benchmark.bias_pp),
    coverage_80: rounded(scores.coverage_80),
    interval_score_80: rounded(scores.interval_score_80),
    direction_hit_rate: rounded(scores.direction_hit_rate),
    benchmark_hit_rate: rounded(benchmark.direction_hit_rate),
    always_up_hit_rate: rounded(scores.base_rate_up),
    declines: scores.declines,
    declines_called: scores.declines_called,
    decline_calls: rows.filter(({ point }) => point < 0).length,
    decline_share: rounded(scores.declines / scores.n),
    predicted_decline_share: rounded(mean(rows.map((row) => row.decline_probability))),
    brier_score: rounded(scores.brier_score),
    log_loss: rounded(scores.log_loss),
  };
};

type BacktestGroup = ReturnType<typeof figuresOf>;

export const breakdownOf = (
  runs: readonly ForecastRun[],
  forecasts: readonly Forecast[],
  names: ReadonlyMap<string, string>,
  by: BreakdownKey,
): BacktestGroup[] => {
  const groups = new Map<string, Scorable[]>();
  const runBy = new Map(runs.map((run) => [run.id, run]));
  for (const row of scorable(runs, forecasts)) {
    for (const group of [groupOf({ row, name: names.get(row.cbsa), run: runBy.get(row.run_id) }, by) ?? []].flat()) {
      const rows = groups.get(group);
      if (rows) rows.push(row);
      else groups.set(group, [row]);
    }
  }
  const order = ORDERS[by] ?? [...groups.keys()].sort();
  return order.flatMap((group) => {
    const rows = groups.get(group);
    return rows ? [figuresOf(group, rows)] : [];
  });
};
