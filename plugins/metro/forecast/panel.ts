/** A panel is the input of models: a table of index levels by quarter and market. */
import { OperatorError } from 'metro-forecast-api/plugin';
import { areaOf, areaOfSeries, seriesOfArea, statesOf } from '../areas.js';
import type { Hpi, Market, Observation, Series } from '../collections.js';
import { lastDay, quarterOf, quarterStart } from '../periods.js';

export interface PanelMarket {
  readonly cbsa: string;
  readonly name: string;
  /** Postal code of the first state. Models treat an empty string as a separate state. */
  readonly state: string;
  /** Centre of the area in degrees. Undefined for the nation and for codes that the Census Bureau does not list. */
  readonly centre?: { readonly latitude: number; readonly longitude: number } | undefined;
}

export interface SeriesValue {
  readonly start: string;
  readonly end: string;
  readonly value: number;
}

export type MacroSeriesValues = ReadonlyMap<string, readonly SeriesValue[]>;

export interface Panel {
  readonly markets: readonly PanelMarket[];
  /** The first quarter with a value, as a number from `quarterIndex`. */
  readonly firstQuarter: number;
  /**
   * Index levels by quarter and market. No quarter between the first and the last is missing. `NaN` marks a missing
   * level.
   */
  readonly quarters: readonly Float64Array[];
  readonly macro: MacroSeriesValues;
}

const toPanelMarket = (market: Pick<Market, 'cbsa' | 'name'>): PanelMarket => {
  const area = areaOf(market.cbsa);
  const centre = area?.kind === 'nation' ? undefined : area;
  return { cbsa: market.cbsa, name: market.name, state: statesOf(market)[0] ?? '', centre };
};

/**
 * Returns the values of each macro series in chronological order. `end` is the last day of the period, before which the
 * value cannot be known.
 */
export const macroSeries = (
  catalog: readonly Pick<Series, 'series_id' | 'cadence'>[],
  observations: readonly Observation[],
): MacroSeriesValues => {
  const series = new Map(
    catalog.map(({ series_id, cadence }) => [series_id, { cadence, values: [] as SeriesValue[] }]),
  );
  for (const { series_id, period_start: start, value } of observations) {
    const entry = series.get(series_id);
    entry?.values.push({ start, end: lastDay(start, entry.cadence), value });
  }
  return new Map([...series].map(([id, { values }]) => [id, values.sort((a, b) => (a.start < b.start ? -1 : 1))]));
};

/**
 * Converts index rows to a panel. Markets without rows are included.
 * @throws OperatorError that lists each row with an unknown code, a value of 0 or less, or a date that is not the first
 *   day of a quarter
 */
export const createPanel = (
  markets: readonly Pick<Market, 'cbsa' | 'name'>[],
  rows: readonly Hpi[],
  macro: MacroSeriesValues = new Map(),
): Panel => {
  const place = new Map(markets.map(({ cbsa }, index) => [cbsa, index]));
  const errors: string[] = [];
  let first = Number.POSITIVE_INFINITY;
  let last = Number.NEGATIVE_INFINITY;
  for (const { cbsa, period_start, value } of rows) {
    const quarter = quarterOf(period_start);
    if (!place.has(cbsa)) errors.push(`${cbsa} ${period_start}: no market has this code`);
    else if (quarterStart(quarter) !== period_start)
      errors.push(`${cbsa} ${period_start}: not the first day of a quarter`);
    else if (!(value > 0)) errors.push(`${cbsa} ${period_start}: the index level must be above 0, but is ${value}`);
    first = Math.min(first, quarter);
    last = Math.max(last, quarter);
  }
  if (errors.length > 0) throw new OperatorError('Cannot forecast from the index:', errors);

  const count = rows.length === 0 ? 0 : last - first + 1;
  const quarters = Array.from({ length: count }, () => new Float64Array(markets.length).fill(Number.NaN));
  for (const { cbsa, period_start, value } of rows) {
    quarters[quarterOf(period_start) - first]![place.get(cbsa)!] = value;
  }
  return {
    markets: markets.map(toPanelMarket),
    firstQuarter: first,
    quarters,
    macro,
  };
};

export const panelsOf = (
  markets: readonly Pick<Market, 'cbsa' | 'name'>[],
  index: readonly Hpi[],
  observations: readonly Observation[],
  macro: MacroSeriesValues,
): { readonly panel: Panel; readonly nationAndStates: Panel } => {
  const isWide = ({ cbsa }: Pick<Market, 'cbsa'>) => seriesOfArea(cbsa) !== undefined;
  const wide = markets.filter(isWide);
  const known = new Set(wide.map(({ cbsa }) => cbsa));
  const rows = observations.flatMap(({ series_id, period_start, value }) => {
    const cbsa = areaOfSeries(series_id)?.cbsa;
    return cbsa !== undefined && known.has(cbsa) ? [{ cbsa, period_start, value }] : [];
  });
  return {
    panel: createPanel(
      markets.filter((market) => !isWide(market)),
      index,
      macro,
    ),
    nationAndStates: createPanel(wide, rows, macro),
  };
};

export const percentChange = (from: number | undefined, to: number | undefined): number =>
  100 * ((to ?? Number.NaN) / (from ?? Number.NaN) - 1);
