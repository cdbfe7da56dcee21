/** A forecast model gets one quarter at a time, so that it cannot use data from later quarters. */
import type { MacroSeriesValues, PanelMarket } from './panel.js';

/** Forecast horizons in months. Only 12-month forecasts have signals and grades. */
export const HORIZONS = [3, 6, 12, 24] as const;
export type Horizon = (typeof HORIZONS)[number];
export const HORIZON_MONTHS = 12;

/**
 * Horizons for the nation and the states. At shorter horizons, a benchmark was as accurate as the model: at 3 months
 * for the states, and at 6 months for the nation.
 */
export const WIDE_HORIZONS: readonly Horizon[] = [12, 24];

const MONTHS_IN_QUARTER = 3;
export const quartersOf = (months: number): number => months / MONTHS_IN_QUARTER;

/**
 * Forecasts made in one quarter: the change in the index over the horizon and the bounds of the 80% interval, in
 * percent. The arrays have one value per market. `NaN` marks a missing value. A forecast has both bounds or none.
 */
export interface QuarterForecasts {
  readonly point: Float64Array;
  readonly lower: Float64Array;
  readonly upper: Float64Array;
  readonly coefficients?: Readonly<Record<string, number>> | undefined;
  /** Contribution of each input in percentage points. The contributions of a market add up to its point forecast. */
  readonly contributions?: Readonly<Record<string, Float64Array>> | undefined;
}

export interface Known {
  readonly quarter: number;
  /** Values of the macro series that the model needs, up to and including this quarter. */
  readonly macro: MacroSeriesValues;
}

export interface Forecaster {
  /**
   * Returns the forecasts made in the next quarter. `levels` contains the index level of each market, or `NaN`. The
   * model must not modify the array.
   */
  next(levels: Float64Array, known: Known): QuarterForecasts;
}

export interface ForecastOptions {
  /** Minimum number of index values. A market with fewer values gets no forecast. */
  readonly minValues: number;
  /** The forecast horizon. Default: 12 months. */
  readonly horizon?: Horizon;
}

export const defaultForecastOptions: ForecastOptions = { minValues: 20 };

export interface ForecastModel {
  /** Name in kebab case, used on the command line. */
  readonly name: string;
  /** The version must change whenever the formula changes. */
  readonly version: string;
  readonly summary: string;
  readonly features: readonly string[];
  readonly series: readonly string[];
  readonly needsCentres: boolean;
  start(markets: readonly PanelMarket[], options: ForecastOptions): Forecaster;
}

/** Returns the name and version that are published with forecasts, such as `metro-momentum-1.0.0`. */
export const modelVersion = (model: Pick<ForecastModel, 'name' | 'version'>): string =>
  `${model.name}-${model.version}`;
