/** Measures how forecasts depend on single values, revisions and gaps. */
import type { Forecast } from '../../plugins/metro/collections.js';
import { quantilesOf } from '../../plugins/metro/endpoints/quantiles.js';
import { intervalScore } from '../../plugins/metro/forecast/backtest.js';
import { defaultRules } from '../../plugins/metro/forecast/default-rules.js';
import { defaultForecastOptions, HORIZON_MONTHS, quartersOf } from '../../plugins/metro/forecast/model.js';
import { type Panel, percentChange, type SeriesValue } from '../../plugins/metro/forecast/panel.js';
import { makeRuns, type Span } from '../../plugins/metro/forecast/runs.js';
import { quarterIndex, quarterName, quarterOf } from '../../plugins/metro/periods.js';

const HORIZON_QUARTERS = quartersOf(HORIZON_MONTHS);
const SALES = 'HSN1F';
const MIN_VALUES = 40;

const newestOf = ({ firstQuarter, quarters }: Panel): number => firstQuarter + quarters.length - 1;
const mean = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0) / values.length;
const quantile = (values: readonly number[], share: number): number =>
  values.toSorted((a, b) => a - b)[Math.floor(share * (values.length - 1))] as number;
const pp = (value: number): string => `${value.toFixed(3)} pp`;
const share = (value: number): string => `${(100 * value).toFixed(1)}%`;

const forecastsOf = (panel: Panel, span: Span): Map<string, Forecast> => {
  const { forecasts } = makeRuns({
    panel,
    options: defaultForecastOptions,
    rules: defaultRules,
    span,
    vintage: '2000-01-01',
    created: new Date(),
    horizons: [HORIZON_MONTHS],
  });
  return new Map(forecasts.map((row) => [`${row.run_id} ${row.cbsa}`, row]));
};

const withSales = (panel: Panel, change: (values: readonly SeriesValue[]) => readonly SeriesValue[]): Panel => ({
  ...panel,
  macro: new Map([[SALES, change(panel.macro.get(SALES) ?? [])]]),
});

/**
 * Compares the forecasts that are in both maps. Reports the mean change, the mean absolute change and the share of
 * changed signals.
 */
const compare = (before: ReadonlyMap<string, Forecast>, after: ReadonlyMap<string, Forecast>) => {
  const pairs = [...before].flatMap(([key, row]) => {
    const other = after.get(key);
    return other ? [[row, other] as const] : [];
  });
  const changes = pairs.map(([a, b]) => b.point - a.point);
  return {
    pairs,
    changes,
    text:
      `mean point ${pp(mean(changes))}, mean absolute change ${pp(mean(changes.map(Math.abs)))}, ` +
      `signals that differ ${share(mean(pairs.map(([a, b]) => Number(a.signal !== b.signal))))}`,
  };
};

function* newestMonth(panel: Panel): Generator<string> {
  const base = forecastsOf(panel, { last: 1 });
  const last = panel.macro.get(SALES)?.at(-1);
  yield `\n## New home sales: the newest month is ${last?.start.slice(0, 7)}\n`;
  const scaled = (factor: number) => (values: readonly SeriesValue[]) =>
    values.map((each) => (each === last ? { ...each, value: factor * each.value } : each));
  const variants = [
    ['10% higher', scaled(1.1)],
    ['10% lower', scaled(0.9)],
    ['without it', (values: readonly SeriesValue[]) => values.slice(0, -1)],
    [
      'without the last three months, which makes pooled-momentum replace the model',
      (values: readonly SeriesValue[]) => values.slice(0, -3),
    ],
  ] as const;
  for (const [name, change] of variants) {
    yield `- ${name}: ${compare(base, forecastsOf(withSales(panel, change), { last: 1 })).text}`;
  }
}

/** Includes only markets with at least 40 values at the origin, like the comparison of models. */
function* accuracy(panel: Panel): Generator<string> {
  const counts = new Int32Array(panel.markets.length);
  const counted = panel.quarters.map((levels) =>
    Int32Array.from(levels, (level, market) => {
      if (!Number.isNaN(level)) counts[market] = (counts[market] as number) + 1;
      return counts[market] as number;
    }),
  );
  const place = new Map(panel.markets.map(({ cbsa }, market) => [cbsa, market]));
  const all = [...forecastsOf(panel, { from: quarterIndex(1990, 1) }).values()].flatMap((row) => {
    const origin = quarterOf(row.target_period) - HORIZON_QUARTERS;
    const values = counted[origin - panel.firstQuarter]?.[place.get(row.cbsa) as number] as number;
    const { realized, lower_80, upper_80 } = row;
    if (realized === null || lower_80 === null || upper_80 === null || values < MIN_VALUES) return [];
    return [{ ...row, origin, realized, lower_80, upper_80 }];
  });
  yield `\n## Accuracy of markets with at least ${MIN_VALUES} values, by origin\n`;
  const periods = [
    [quarterIndex(1990, 1), quarterIndex(2012, 4)],
    [quarterIndex(2005, 4), quarterIndex(2024, 4)],
    [quarterIndex(2005, 4), quarterIndex(2012, 4)],
    [quarterIndex(2013, 1), quarterIndex(2024, 4)],
  ] as const;
  for (const [from, to] of periods) {
    const rows = all.filter(({ origin }) => origin >= from && origin <= to);
    if (rows.length === 0) continue;
    const mae = mean(rows.map(({ realized, point }) => Math.abs(realized - point)));
    const score = mean(rows.map((row) => intervalScore(row.lower_80, row.upper_80, row.realized)));
    const covered = mean(rows.map((row) => Number(row.lower_80 <= row.realized && row.realized <= row.upper_80)));
    const quartiles = [0, 2].map((bound) =>
      mean(rows.map((row) => Number(row.realized < (quantilesOf(row)[1 + bound]?.[1] as number)))),
    );
    yield `- ${quarterName(from)} to ${quarterName(to)}: ${rows.length} forecasts, MAE ${pp(mae)}, interval score ${score.toFixed(2)}, coverage ${share(covered)}, below the quartiles ${quartiles.map(share).join(' and ')}`;
  }
  const seasons = [0, 1, 2, 3].map((quarter) =>
    mean(
      all
        .filter(
          ({ origin }) => origin % 4 === quarter && origin >= quarterIndex(2015, 1) && origin <= quarterIndex(2024, 4),
        )
        .map(({ point }) => point),
    ),
  );
  yield `- Mean point by quarter of the origin, 2015 to 2024: ${seasons.map(pp).join(', ')}; range ${pp(Math.max(...seasons) - Math.min(...seasons))}`;
}

const gapsOf = ({ quarters, markets: areas }: Panel) => {
  let gaps = 0;
  let withGaps = 0;
  for (const market of areas.keys()) {
    const known = [...quarters.keys()].filter((t) => !Number.isNaN(quarters[t]?.[market]));
    const missing = known.length === 0 ? 0 : (known.at(-1) as number) - (known[0] as number) + 1 - known.length;
    gaps += missing;
    if (missing > 0) withGaps++;
  }
  return `${gaps} quarters of ${withGaps} areas are interpolated`;
};

function* noise(panel: Panel): Generator<string> {
  const seasons: number[][] = [[], [], [], []];
  const changes = panel.markets.map((): number[] => []);
  for (const [t, levels] of panel.quarters.entries()) {
    const quarter = panel.firstQuarter + t;
    for (const market of levels.keys()) {
      const growth = percentChange(panel.quarters[t - 1]?.[market], levels[market]);
      const before = percentChange(panel.quarters[t - 2]?.[market], panel.quarters[t - 1]?.[market]);
      if (quarter >= quarterIndex(1990, 1) && !Number.isNaN(growth)) seasons[quarter % 4]?.push(growth);
      if (quarter >= quarterIndex(2015, 1) && !Number.isNaN(growth - before))
        changes[market]?.push(Math.abs(growth - before));
    }
  }
  yield '\n## Noise of the index\n';
  yield `- Mean growth by quarter since 1990: ${seasons.map((values) => share(mean(values) / 100)).join(', ')}`;
  const byArea = panel.markets.map(({ name }, market) => ({ name, change: mean(changes[market] ?? []) }));
  const known = byArea.filter(({ change }) => !Number.isNaN(change)).sort((a, b) => a.change - b.change);
  const houston = known.find(({ name }) => name.startsWith('Houston'));
  for (const area of [known[0], houston, known[Math.floor(known.length / 2)], known.at(-1)]) {
    if (area)
      yield `- ${area.name}: growth differs by ${pp(area.change)} from one quarter to the next on average since 2015`;
  }
  const forecasts = forecastsOf(panel, { from: quarterIndex(2005, 4) });
  const moves = [...forecasts.values()].flatMap((row) => {
    const before = forecasts.get(`${row.run_id % 10 === 1 ? row.run_id - 7 : row.run_id - 1} ${row.cbsa}`);
    return before ? [Math.abs(row.point - before.point)] : [];
  });
  yield `- Points differ by ${pp(mean(moves))} from one run to the next on average`;
}

function* revisions(current: Panel, earlier: Panel): Generator<string> {
  const quarter = newestOf(earlier);
  yield `\n## Release of ${quarterName(quarter)} compared with that of ${quarterName(newestOf(current))}\n`;
  const there = new Map(current.markets.map(({ cbsa }, market) => [cbsa, market]));
  const common = earlier.markets.flatMap(({ cbsa }, market) => {
    const now = there.get(cbsa);
    return now === undefined ? [] : [[market, now] as const];
  });
  yield `- Areas in both releases: ${common.length}. Only in the earlier one: ${earlier.markets.length - common.length}. Only in the current one: ${current.markets.length - common.length}.`;
  const level = (panel: Panel, at: number, market: number) => panel.quarters[at - panel.firstQuarter]?.[market];
  const yoy = (panel: Panel, market: number) =>
    percentChange(level(panel, quarter - HORIZON_QUARTERS, market), level(panel, quarter, market));
  const pairs = common
    .map(([then, now]) => [yoy(earlier, then), yoy(current, now)] as const)
    .filter(([a, b]) => !Number.isNaN(a - b));
  const changes = pairs.map(([a, b]) => Math.abs(b - a));
  const signs = pairs.filter(([a, b]) => a > 0 !== b > 0).length;
  yield `- Revision of yoy_price of the newest quarter: median ${pp(quantile(changes, 0.5))}, 95th percentile ${pp(quantile(changes, 0.95))}, ${signs} of ${pairs.length} signs`;
  const span = { from: quarter, to: quarter };
  const { pairs: made, text, changes: moved } = compare(forecastsOf(earlier, span), forecastsOf(current, span));
  yield `- Reconstructed forecast minus that of the earlier index: ${text}, 95th percentile ${pp(quantile(moved.map(Math.abs), 0.95))}`;
  const errors = (of: 0 | 1) =>
    mean(made.flatMap((pair) => (pair[1].realized === null ? [] : Math.abs(pair[1].realized - pair[of].point))));
  yield `- MAE against the current release: earlier index ${pp(errors(0))}, reconstructed ${pp(errors(1))}`;
}

export function* robustness(current: Panel, earlier: Panel | undefined): Generator<string> {
  yield* newestMonth(current);
  yield* accuracy(current);
  yield* noise(current);
  yield `\n## Gaps\n\n- ${gapsOf(current)}`;
  if (earlier) yield* revisions(current, earlier);
}
