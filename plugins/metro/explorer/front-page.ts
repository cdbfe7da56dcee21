import { readFileSync } from 'node:fs';
import type { Finding, FrontPageContent, FrontPageContext, FrontPageFigure, Shape } from 'metro-forecast-api/plugin';
import type { Backtest, ForecastRun, Market, Series } from '../collections.js';
import { METRO_HPI } from '../fields.js';

type Outline = readonly [path: string, x: number, y: number];

interface Outlines {
  readonly size: readonly [number, number];
  readonly land: string;
  readonly states: string;
  readonly areas: Readonly<Record<string, Outline>>;
}

/** Class widths in percent, and the number of colours for falls and for rises. Must match the values in `scales.js`. */
const WIDTHS = [0.5, 1, 2, 5, 10, 20, 50, 100];
const [FALLS, RISES] = [5, 7];

interface Forecast extends Market {
  readonly forecast_12m: number;
}

interface Facts {
  readonly markets: readonly Market[];
  readonly forecasts: readonly Forecast[];
  readonly target: string;
  readonly nation: Market | undefined;
  readonly series: Series | undefined;
}

const percent = (value: number): string => `${Math.abs(value).toFixed(1)}%`;
const direction = (value: number): number => Math.sign(Number(value.toFixed(1)));
const signed = (value: number): string => `${['−', '', '+'][direction(value) + 1]}${percent(value)}`;
const moveText = (value: number, verbs: readonly [string, string, string]): string =>
  `${verbs[direction(value) + 1]}${direction(value) === 0 ? '' : ` ${percent(value)}`}`;
const quarter = (date: string, years = 0): string =>
  `${Number(date.slice(0, 4)) + years} Q${Math.ceil(Number(date.slice(5, 7)) / 3)}`;
const count = (value: number): string => value.toLocaleString('en-US');

const median = (values: readonly number[]): number => {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2;
};

/** Shortens "Houston-Pasadena-The Woodlands, TX" to "Houston, TX". */
const shortName = (name: string): string =>
  name.replace(/[-/,].*(?=, [A-Z]{2})/, '').replace(/, ([A-Z]{2}).*$/, ', $1');

/** Without a national index, the median metro represents the nation. */
const nationFinding = ({ nation, markets, forecasts, target, series }: Facts): Finding[] => {
  const past = markets.flatMap(({ yoy_price }) => yoy_price ?? []);
  const last = nation?.yoy_price ?? (past.length === 0 ? null : median(past));
  const next = nation ? nation.forecast_12m : median(forecasts.map(({ forecast_12m }) => forecast_12m));
  if (last === null) return [];
  // The index can be newer than the forecasts, so the newest quarter comes from the index.
  const newest = series?.observation_end ? quarter(series.observation_end) : quarter(target, -1);
  const change = `${moveText(last, ['fell', 'did not change', 'rose'])} in the year to ${newest}`;
  const metro = markets.length === 1 ? shortName(markets[0]!.name) : 'the median metro';
  const where = `in ${nation ? 'the United States' : metro}`;
  const expected =
    next === null
      ? ''
      : `; the model expects ${moveText(next, ['a fall of', 'no change', 'a rise of'])} by ${quarter(target)}`;
  return [{ figure: signed(last), sentence: `House prices ${change} ${where}${expected}.`, href: '/explore#/markets' }];
};

const amongText = (rising: number, all: number): string => {
  if (rising === all) return all === 2 ? 'both metros' : `all ${count(all)} metros`;
  return `${rising === 0 ? 'none of the' : `${count(rising)} of`} ${count(all)} metros`;
};

/** Returns the title of the map, in the same words as the explorer. */
const mapTitle = ({ forecasts, target }: Facts): string => {
  const rising = forecasts.filter(({ forecast_12m }) => forecast_12m > 0).length;
  const move =
    forecasts.length === 1
      ? `${moveText(forecasts[0]!.forecast_12m, ['fall', 'stay the same', 'rise'])} in ${shortName(forecasts[0]!.name)}`
      : `rise in ${amongText(rising, forecasts.length)}`;
  return `House prices are expected to ${move} by ${quarter(target)}`;
};

const extremes = ({ forecasts, target }: Facts): Finding[] => {
  if (forecasts.length === 1) return [];
  const sorted = forecasts.toSorted((a, b) => a.forecast_12m - b.forecast_12m);
  const [least, most] = [sorted[0]!, sorted.at(-1)!];
  const [low, high] = [signed(least.forecast_12m), signed(most.forecast_12m)];
  const range =
    low === high
      ? `all forecasts are ${low}`
      : `the forecasts range from ${shortName(least.name)} (${low}) to ${shortName(most.name)} (${high})`;
  return [
    {
      figure: low === high ? low : `${low.slice(0, -1)} to ${high}`,
      sentence: `By ${quarter(target)}, ${range}.`,
      href: '/explore#/markets',
    },
  ];
};

const accuracy = (backtest: Backtest | null | undefined): Finding[] => {
  if (!backtest) return [];
  const { n, mae_pp, benchmark, benchmarks, n_reconstructed: reconstructed = 0 } = backtest;
  const some = reconstructed === n ? 'all' : count(reconstructed);
  const kind = reconstructed === 0 ? '' : `, ${n === 1 ? '' : `${some} of them `}reconstructed`;
  return [
    {
      figure: `${mae_pp.toFixed(1)} points off`,
      sentence:
        `Past forecasts were off by ${mae_pp.toFixed(1)} percentage points on average (${count(n)} ${n === 1 ? 'forecast' : 'forecasts'}${kind}). ` +
        `The best simple rule would have been off by ${(benchmarks?.[0] ?? benchmark).mae_pp.toFixed(1)}.`,
      href: '/explore#/backtest',
    },
  ];
};

const colorOf = (index: number): string => (index < 0 ? `fall-${-index}` : `rise-${index + 1}`);

const classesOf = (values: readonly number[]) => {
  const [least, most] = [Math.min(...values), Math.max(...values)];
  const width = WIDTHS.find((one) => -least <= one * FALLS && most <= one * RISES) ?? WIDTHS.at(-1)!;
  const classOf = (value: number): number => Math.min(Math.max(Math.floor(value / width), -FALLS), RISES - 1);
  const [first, last] = [classOf(least), classOf(most)];
  const labelOf = (index: number): string => {
    const [low, high] = [index * width, (index + 1) * width];
    if (first === last) return `${low} to ${high}%`;
    return index === first ? `≤ ${high}%` : index === last ? `≥ ${low}%` : `${low} to ${high}%`;
  };
  const legend = Array.from({ length: last - first + 1 }, (_, i) => ({
    color: colorOf(first + i),
    label: labelOf(first + i).replaceAll('-', '−'),
  }));
  return { classOf, legend };
};

const diamond = (x: number, y: number): string => `M${x - 34},${y}l34,-34 34,34 -34,34z`;

const readOutlines = (): Outlines => {
  const path = new URL('./browser/map.json', import.meta.url).pathname.replace(/(.*)\/dist\//, '$1/');
  return JSON.parse(readFileSync(decodeURIComponent(path), 'utf8'));
};

const shapesOf = (
  { land, states, areas }: Outlines,
  markets: readonly Market[],
  classOf: (value: number) => number,
): Shape[] => {
  const drawn = markets.flatMap((market): [number, Shape][] => {
    const { cbsa, name, forecast_12m: forecast } = market;
    const area = areas[cbsa];
    if (!area) return [];
    const [outline, x, y] = area;
    const order = forecast === null ? -FALLS - 1 : classOf(forecast);
    const shape = {
      path: outline || diamond(x, y),
      fill: forecast === null ? 'none' : colorOf(order),
      // An outline keeps metros without a forecast visible, even with forced colours.
      stroke: forecast === null ? 'control' : 'page',
      width: 2,
      title: `${name}: ${forecast === null ? 'no forecast' : signed(forecast)}`,
      href: `/explore#/markets/${cbsa}`,
    };
    return [[order, shape]];
  });
  return [
    { path: land, fill: 'raised', stroke: 'control', width: 3 },
    // The page groups consecutive shapes of the same colour, so the shapes are sorted by colour.
    ...drawn.sort(([a], [b]) => a - b).map(([, shape]) => shape),
    { path: states, stroke: 'muted', width: 3 },
  ];
};

const mapOf = (facts: Facts): FrontPageFigure => {
  const { markets, forecasts, series } = facts;
  const outlines = readOutlines();
  const [width, height] = outlines.size;
  const { classOf, legend } = classesOf(forecasts.map(({ forecast_12m }) => forecast_12m));
  const source = series ? ` Source of the index: ${series.source}.` : '';
  return {
    title: mapTitle(facts),
    description: `Map of the United States with the 12-month forecasts of ${forecasts.length} metros. The list in the explorer has the same figures.`,
    drawing: { width, height, shapes: shapesOf(outlines, markets, classOf) },
    legend: forecasts.length < markets.length ? [...legend, { color: 'none', label: 'no forecast' }] : legend,
    note: `Forecast change in the house price index over 12 months, in percent.${source}`,
    sources: [METRO_HPI],
    href: '/explore#/markets',
  };
};

/** Finds the run by its id, because the newest run can have a different horizon. */
const runOf = ([forecast]: readonly Forecast[], runs: readonly ForecastRun[] = []): ForecastRun | undefined =>
  runs.find(({ id }) => id === forecast?.run_id);

const aboutRun = (run: ForecastRun | undefined, isMedian: boolean): string[] => {
  if (!run) return [];
  const { model_version, run_at, basis = 'reconstructed', vintage } = run;
  const data = vintage == null ? '' : ` from the data of ${vintage}`;
  return [
    `Forecasts: model ${model_version}, run of ${run_at.slice(0, 10)}, ${basis === 'published' ? 'published at the time' : 'reconstructed later'}${data}.`,
    ...(isMedian ? ['The median counts each metro once, regardless of its size.'] : []),
  ];
};

export const metroFrontPage = async ({ get }: FrontPageContext): Promise<FrontPageContent> => {
  const markets: readonly Market[] | undefined = (await get('/markets'))?.data;
  if (!markets) return {};
  const search = { path: '/explore', label: 'Find a metro, or compare several', placeholder: 'Boise, Austin, Houston' };
  const forecasts = markets.filter((market): market is Forecast => market.forecast_12m !== null);
  const target = forecasts[0]?.target_period;
  const views = [{ title: 'Compare', href: '/explore#/compare' }];
  if (!target) return { search, views };
  const [country, runs, backtest, series] = await Promise.all([
    get('/markets?kind=nation'),
    get('/forecast-runs'),
    get('/forecast-backtest'),
    get('/series'),
  ]);
  const nation = country?.data.find(({ yoy_price }: Market) => yoy_price !== null);
  const facts = {
    nation,
    markets,
    forecasts,
    target,
    series: series?.data.find(({ series_id }: Series) => series_id === METRO_HPI),
  };
  return {
    findings: [...nationFinding(facts), ...extremes(facts), ...accuracy(backtest?.data)],
    figure: mapOf(facts),
    about: aboutRun(runOf(forecasts, runs?.data), nation === undefined && markets.length > 1),
    search,
    views,
  };
};
