import { counted } from '../core/util/counted.js';
import { type Backtest, SIGNALS } from '../plugins/metro/collections.js';
import type { ForecastReport } from '../plugins/metro/forecast/forecast-directory.js';
import { isMainRun } from '../plugins/metro/forecast/run-rows.js';
import { isOf, type Runs } from '../plugins/metro/forecast/runs.js';
import { count } from './output.js';

const newestOf = ({ runs, forecasts }: Runs) => {
  const run = runs.findLast(isOf());
  const rows = forecasts.filter(({ run_id }) => run_id === run?.id);
  const signals = Object.fromEntries(
    SIGNALS.map((signal) => [signal, rows.filter((row) => row.signal === signal).length]),
  );
  return { id: run?.id ?? null, run_at: run?.run_at ?? null, forecasts: rows.length, signals };
};

export const forecastReport = ({ version, made, replacedRuns }: ForecastReport) => {
  const runs = made.runs.filter(isOf());
  const added = new Set(made.added.filter(isMainRun));
  const rows = made.forecasts.filter(({ run_id }) => added.has(run_id));
  return {
    version,
    model_version: runs.at(-1)?.model_version ?? null,
    runs: added.size,
    forecasts: rows.length,
    without_bounds: rows.filter(({ lower_80 }) => lower_80 === null).length,
    kept: runs.map(({ id }) => id).filter((id) => !added.has(id)),
    replaced: replacedRuns.filter(isMainRun),
    newest_run: newestOf(made),
    backtest: made.backtests.find(isOf()) ?? null,
  };
};

const range = (ids: readonly number[]): string =>
  ids.length === 1 ? `1 run, number ${ids[0]}` : `${count.format(ids.length)} runs, numbers ${ids[0]} to ${ids.at(-1)}`;

const comparison = ({ benchmark, skill_mae, benchmarks }: Backtest): string => {
  const best = benchmarks?.[0] ?? { ...benchmark, skill_mae };
  return `(${best.name} ${best.mae_pp.toFixed(2)}, skill ${best.skill_mae.toFixed(2)})`;
};

export const forecastSummary = (directory: string, report: ForecastReport): string => {
  const { version, made } = report;
  const backtest = made.backtests.find(isOf());
  const { forecasts, without_bounds: unbounded, kept, replaced, newest_run: newest } = forecastReport(report);
  const run = made.runs.find(({ id }) => id === newest.id);
  const signals = Object.entries(newest.signals).map(([signal, n]) => `${n} ${signal}`);
  const added = made.added.filter(isMainRun);
  const lines = [
    added.length === 0
      ? 'Nothing to add: every requested quarter has a run. Use --recompute to replace the runs.'
      : `Added ${range(added)}, by ${run?.model_version}: ${counted(forecasts, 'forecast')}.`,
  ];
  if (replaced.length > 0) lines.push(`Replaced ${range(replaced)}.`);
  if (kept.length > 0) lines.push(`Kept ${range(kept)}.`);
  lines.push(`Newest run: ${counted(newest.forecasts, 'market')}, ${signals.join(', ')}.`);
  if (run?.notes) lines.push(run.notes);
  if (unbounded > 0) {
    lines.push(
      `${counted(unbounded, 'forecast')} ${unbounded === 1 ? 'has' : 'have'} no bounds, because too few outcomes were known at that time.`,
    );
  }
  lines.push(
    backtest
      ? `Backtest: ${counted(backtest.n, 'forecast')} came due; mean absolute error ${backtest.mae_pp.toFixed(2)} percentage points ` +
          `${comparison(backtest)}, ` +
          `${(100 * backtest.coverage_80).toFixed(0)}% inside the 80% interval, ` +
          `${backtest.declines_called} of ${backtest.declines} declines called.`
      : 'No backtest: the runs span under 12 months, or no target has been published yet.',
    ...made.backtests
      .filter((each) => !isOf()(each))
      .map((each) => `Horizon of ${each.horizon_months} months: error ${each.mae_pp.toFixed(2)} ${comparison(each)}.`),
    `${directory} is now version ${version}.`,
  );
  return lines.join('\n');
};
