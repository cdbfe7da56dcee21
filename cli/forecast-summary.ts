/** What `metro-forecast forecast` says about the runs that it made. */
import { SIGNALS } from '../metro/collections.js';
import type { Runs } from '../metro/forecast/runs.js';
import { count } from './output.js';

/** The newest run's forecasts by signal, and those without bounds. */
const newestOf = ({ runs, forecasts }: Runs) => {
  const run = runs.at(-1);
  const rows = forecasts.filter(({ run_id }) => run_id === run?.id);
  const signals = Object.fromEntries(
    SIGNALS.map((signal) => [signal, rows.filter((row) => row.signal === signal).length]),
  );
  return { id: run?.id ?? null, run_at: run?.run_at ?? null, forecasts: rows.length, signals };
};

/** For machines. Field meanings as in the API's reference. */
export const forecastReport = (version: string, made: Runs) => ({
  version,
  model_version: made.runs[0]?.model_version ?? null,
  runs: made.runs.length,
  forecasts: made.forecasts.length,
  without_bounds: made.forecasts.filter(({ lower_80 }) => lower_80 === null).length,
  newest_run: newestOf(made),
  backtest: made.backtest ?? null,
});

/** For people: a few lines. */
export const forecastSummary = (directory: string, version: string, made: Runs): string => {
  const { runs, forecasts, backtest } = made;
  const newest = newestOf(made);
  const signals = Object.entries(newest.signals).map(([signal, n]) => `${n} ${signal}`);
  const unbounded = forecastReport(version, made).without_bounds;
  const lines = [
    `${count.format(runs.length)} runs of ${runs[0]?.model_version}, numbers ${runs[0]?.id} to ${newest.id}: ${count.format(forecasts.length)} forecasts.`,
    `Newest run: ${newest.forecasts} markets, ${signals.join(', ')}.`,
  ];
  if (unbounded > 0) {
    lines.push(`${count.format(unbounded)} forecasts have no bounds, since too few outcomes were known at the time.`);
  }
  lines.push(
    backtest
      ? `Backtest: ${count.format(backtest.n)} forecasts came due; mean absolute error ${backtest.mae_pp.toFixed(2)} percentage points ` +
          `(${backtest.benchmark.name} ${backtest.benchmark.mae_pp.toFixed(2)}, skill ${backtest.skill_mae.toFixed(2)}), ` +
          `${(100 * backtest.coverage_80).toFixed(0)}% inside the 80% interval.`
      : 'No backtest: the runs span under 12 months, or no target has been published yet.',
    `${directory} is now version ${version}.`,
  );
  return lines.join('\n');
};
