/** Compares the forecasts for each horizon with benchmarks, for metros, the nation and the states. */
import { intervalScore } from '../../plugins/metro/forecast/backtest.js';
import { defaultRules } from '../../plugins/metro/forecast/default-rules.js';
import { defaultForecastOptions, HORIZONS, type Horizon, quartersOf } from '../../plugins/metro/forecast/model.js';
import { defaultModel } from '../../plugins/metro/forecast/models/index.js';
import { type Panel, percentChange } from '../../plugins/metro/forecast/panel.js';
import { createPanelRows } from '../../plugins/metro/forecast/run-rows.js';
import { quarterIndex, quarterName } from '../../plugins/metro/periods.js';

const YEAR = 4;

const PERIODS = [
  [quarterIndex(1990, 1), quarterIndex(2012, 4)],
  [quarterIndex(2005, 4), quarterIndex(2012, 4)],
  [quarterIndex(2013, 1), quarterIndex(2024, 4)],
  [quarterIndex(2005, 4), quarterIndex(2024, 4)],
] as const;

/**
 * Returns the seasonal benchmark: the change over the same quarters of an earlier year. `NaN` if a value is missing.
 */
const seasonal = ({ quarters, firstQuarter }: Panel, quarter: number, market: number, horizon: Horizon): number => {
  const ahead = quartersOf(horizon);
  const from = quarter - firstQuarter - YEAR * Math.ceil(ahead / YEAR);
  return percentChange(quarters[from]?.[market], quarters[from + ahead]?.[market]);
};

const mean = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0) / values.length;

/** Returns the forecasts to compare: all forecasts since 1990 for which every benchmark also has a forecast. */
const scoredOf = (panel: Panel, horizon: Horizon) => {
  const newest = panel.firstQuarter + panel.quarters.length - 1;
  const rows = createPanelRows({
    panel,
    model: defaultModel,
    options: { ...defaultForecastOptions, horizon },
    rules: defaultRules,
    vintage: '2000-01-01',
    created: new Date(),
    newest,
    kept: [],
  });
  const place = new Map(panel.markets.map(({ cbsa }, market) => [cbsa, market]));
  return rows.origins
    .filter(({ quarter }) => quarter >= quarterIndex(1990, 1))
    .flatMap(({ quarter }) =>
      rows
        .rowsAt(quarter)
        .flatMap(({ cbsa, point, lower_80, upper_80, realized, benchmark, ar1_nation, shrunk_mean }) => {
          const season = seasonal(panel, quarter, place.get(cbsa) as number, horizon);
          if (realized === null || lower_80 === null || upper_80 === null || Number.isNaN(season)) return [];
          if (benchmark == null || ar1_nation == null || shrunk_mean == null) return [];
          const errors = [point, benchmark, season, ar1_nation, shrunk_mean].map((value) => Math.abs(realized - value));
          const isInside = lower_80 <= realized && realized <= upper_80;
          return [{ quarter, cbsa, errors, isInside, score: intervalScore(lower_80, upper_80, realized) }];
        }),
    );
};

const HEAD = [
  ...['Horizon', 'Quarters', 'Forecasts', 'Error (pp)', 'Persistence (pp)', 'Season (pp)', 'AR(1) (pp)'],
  ...['Shrunk mean (pp)', 'Skill against the best', 'Interval score', 'In the 80% interval'],
];

const lineOf = (cells: readonly string[]): string => `| ${cells.join(' | ')} |`;

function* tableOf(panel: Panel, isChosen: (cbsa: string) => boolean): Generator<string> {
  yield lineOf(HEAD);
  yield lineOf(HEAD.map(() => '---'));
  for (const horizon of HORIZONS) {
    const all = scoredOf(panel, horizon).filter(({ cbsa }) => isChosen(cbsa));
    for (const [from, to] of PERIODS) {
      const rows = all.filter(({ quarter }) => quarter >= from && quarter <= to);
      if (rows.length === 0) continue;
      const [error = 0, ...benchmarks] = [0, 1, 2, 3, 4].map((i) =>
        mean(rows.map(({ errors }) => errors[i] as number)),
      );
      yield lineOf([
        `${horizon} months`,
        `${quarterName(from)} to ${quarterName(to)}`,
        rows.length.toLocaleString('en-US'),
        ...[error, ...benchmarks].map((value) => value.toFixed(2)),
        `${(100 * (1 - error / Math.min(...benchmarks))).toFixed(1)}%`,
        mean(rows.map(({ score }) => score)).toFixed(1),
        `${(100 * mean(rows.map(({ isInside }) => Number(isInside)))).toFixed(1)}%`,
      ]);
    }
  }
}

export function* horizonTables(panel: Panel, nationAndStates: Panel): Generator<string> {
  yield '\n## Horizons, metros\n';
  yield* tableOf(panel, () => true);
  if (nationAndStates.markets.length === 0) return;
  yield '\n## Horizons, states\n';
  yield* tableOf(nationAndStates, (cbsa) => cbsa !== '00000');
  yield '\n## Horizons, the nation\n';
  yield* tableOf(nationAndStates, (cbsa) => cbsa === '00000');
}
