/**
 * Defines the contract of forecast models. A model processes one quarter at a time, so that it cannot use data from
 * later quarters.
 */
import type { MacroSeriesValues, PanelMarket } from './panel.js';

/** Forecast horizons in months. Only 12-month forecasts have signals and grades. */
export const HORIZONS = [3, 6, 12, 24] as const;
export type Horizon = (typeof HORIZONS)[number];
export const HORIZON_MONTHS = 12;

/**
 * Horizons for the nation and the states. Shorter horizons are omitted, because a benchmark was as accurate as the
 * model: for the states at 3 months, and for the nation at 6 months.
 */
export const WIDE_HORIZONS: readonly Horizon[] = [12, 24];

const MONTHS_IN_QUARTER = 3;
export const quartersOf = (months: number): number => months / MONTHS_IN_QUARTER;

/**
 * Forecasts made in one quarter, with one value per market in panel order: the change in the index over the horizon,
 * and the bounds of the 80% interval, in percent. `NaN` marks a missing value. Either both bounds are present or both
 * are missing.
 */
export interface QuarterForecasts {
  readonly point: Float64Array;
  readonly lower: Float64Array;
  readonly upper: Float64Array;
  /** Fitted coefficients by regressor. Not all models have coefficients. */
  readonly coefficients?: Readonly<Record<string, number>> | undefined;
  /**
   * Contribution of each input to the point forecasts, in percentage points. A market's contributions add up to its
   * point forecast.
   */
  readonly contributions?: Readonly<Record<string, Float64Array>> | undefined;
}

export interface Known {
  readonly quarter: number;
  /** Values of the model's `series`, for all periods that end in or before this quarter. */
  readonly macro: MacroSeriesValues;
}

export interface Forecaster {
  /**
   * Processes the next quarter and returns its forecasts. `levels` contains the index level of each market or `NaN`.
   * The array must not be modified.
   */
  next(levels: Float64Array, known: Known): QuarterForecasts;
}

export interface ForecastOptions {
  /** Minimum number of index values. Markets with fewer values get no forecast. */
  readonly minValues: number;
  /** The forecast horizon. Default: 12 months. */
  readonly horizon?: Horizon;
}

export const defaultForecastOptions: ForecastOptions = { minValues: 20 };

export interface ForecastModel {
  /** Name in kebab case, used to select the model on the command line. */
  readonly name: string;
  /** Must change whenever the formula changes. */
  readonly version: string;
  readonly summary: string;
  /** Names of the inputs, published with each run. */
  readonly features: readonly string[];
  readonly series: readonly string[];
  readonly needsCentres: boolean;
  start(markets: readonly PanelMarket[], options: ForecastOptions): Forecaster;
}

/** Returns the name and version that are published with forecasts, such as `metro-momentum-1.0.0`. */
export const modelVersion = (model: Pick<ForecastModel, 'name' | 'version'>): string =>
  `${model.name}-${model.version}`;
