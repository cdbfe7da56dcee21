import type { Source } from 'metro-forecast-api/plugin';
import { areaOfSeries } from '../areas.js';
import { type Hpi, type Market, METRO_HPI, type Observation, type Series } from '../collections.js';
import { quarterOf, quarterStart } from '../periods.js';
import { freshness } from '../release-calendar.js';
import { rounded } from '../rounding.js';
import { FHFA_CADENCE, type MetroIndex } from './fhfa.js';
import type { MacroSeries } from './fred.js';
import { FHFA, fredEntryOf } from './fred-catalog.js';

export const FHFA_ATTRIBUTION = 'This product uses FHFA data but is neither endorsed nor certified by FHFA';

const yearOnYear = ({ quarters, values }: MetroIndex): number | null => {
  const last = quarters.at(-1);
  const before = last === undefined ? undefined : values[quarters.lastIndexOf(last - 4)];
  return before === undefined ? null : rounded((100 * (values.at(-1)! - before)) / before);
};

export const toMarket = (index: MetroIndex): Market => ({
  id: Number(index.cbsa),
  cbsa: index.cbsa,
  name: index.name,
  signal: null,
  risk_score: null,
  yoy_price: yearOnYear(index),
  forecast_12m: null,
});

export const toWideMarkets = ({ id, cadence, days, values }: MacroSeries): Market[] => {
  const area = cadence === 'quarterly' ? areaOfSeries(id) : undefined;
  return area ? [toMarket({ cbsa: area.cbsa, name: area.name, quarters: days.map(quarterOf), values })] : [];
};

export const toHpi = ({ cbsa, quarters, values, errors }: MetroIndex): Hpi[] =>
  quarters.map((quarter, i) => ({
    cbsa,
    period_start: quarterStart(quarter),
    value: values[i]!,
    ...(typeof errors?.[i] === 'number' && { standard_error: errors[i] }),
  }));

export const toObservations = ({ id, days, values }: MacroSeries): Observation[] =>
  days.map((day, i) => ({ series_id: id, period_start: day, value: values[i]! }));

const span = (areas: readonly MetroIndex[]): { first: string; last: string } | undefined => {
  let first = Number.POSITIVE_INFINITY;
  let last = Number.NEGATIVE_INFINITY;
  for (const { quarters } of areas) {
    first = Math.min(first, quarters[0] ?? first);
    last = Math.max(last, quarters.at(-1) ?? last);
  }
  return first > last ? undefined : { first: quarterStart(first), last: quarterStart(last) };
};

export interface Entry {
  readonly series: Series;
  readonly source: Source;
}

export const toSource = (series: Series, attribution: string | null): Source => ({
  id: series.series_id,
  title: series.title,
  cadence: series.cadence,
  latest_period: series.observation_end,
  last_loaded_at: series.last_updated,
  ...freshness(series.cadence),
  attribution,
});

export const metroEntry = (areas: readonly MetroIndex[], loadedAt: string): Entry => {
  const { first = null, last = null } = span(areas) ?? {};
  const series: Series = {
    series_id: METRO_HPI,
    title: 'FHFA House Price Index, All-Transactions, by Metro Area',
    kind: 'metro',
    geography: 'Metropolitan statistical areas and divisions of the United States',
    cadence: FHFA_CADENCE,
    source: 'Federal Housing Finance Agency',
    units: 'Index 1995Q1=100',
    seasonal_adjustment: 'NSA',
    observation_start: first,
    observation_end: last,
    last_updated: loadedAt,
    notes: FHFA_ATTRIBUTION,
  };
  return { series, source: toSource(series, FHFA_ATTRIBUTION) };
};

export const macroEntry = ({ id, cadence, days }: MacroSeries, loadedAt: string): Entry => {
  const known = fredEntryOf(id);
  const attribution = known?.publisher === FHFA ? FHFA_ATTRIBUTION : null;
  const series: Series = {
    series_id: id,
    title: known?.title ?? id,
    kind: 'macro',
    geography: known === undefined ? 'not stated' : (known.geography ?? 'United States'),
    cadence,
    source: known === undefined ? 'FRED' : `${known.publisher}, by FRED`,
    units: known?.units ?? 'not stated',
    seasonal_adjustment: known?.seasonal_adjustment ?? null,
    observation_start: days[0] ?? null,
    observation_end: days.at(-1) ?? null,
    last_updated: loadedAt,
    notes: attribution,
  };
  return { series, source: toSource(series, attribution) };
};
