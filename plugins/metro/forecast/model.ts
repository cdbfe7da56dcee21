/**
 * The contract that forecast models implement. A model receives the quarters one at a time and returns its forecasts
 * after each, so that it cannot use data from later quarters.
 */
import type { MacroSeriesValues, PanelMarket } from './panel.js';

/** Forecast horizons in months. Only 12-month forecasts have signals and grades. */
export const HORIZONS = [3, 6, 12, 24] as const;
export type Horizon = (typeof HORIZONS)[number];
export const HORIZON_MONTHS = 12;

/**
 * Horizons for the nation and the states. Shorter horizons are left out, because a benchmark was as good as the model
 * for the states at 3 months and for the nation at 6 months.
 */
export const WIDE_HORIZONS: readonly Horizon[] = [12, 24];

const MONTHS_IN_QUARTER = 3;
export const quartersOf = (months: number): number => months / MONTHS_IN_QUARTER;

/**
 * One forecast per market, in the order of the panel: the change in the index over the horizon and the bounds of the
 * 80% interval, in percent. `NaN` marks a missing value. A forecast has either both bounds or neither.
 */
export interface QuarterForecasts {
  readonly point: Float64Array;
  readonly lower: Float64Array;
  readonly upper: Float64Array;
  /** Fitted coefficients by regressor, if the model has any. */
  readonly coefficients?: Readonly<Record<string, number>> | undefined;
  /**
   * Contribution of each input to the point forecasts, in percentage points. A market's contributions add up to its
   * point forecast.
   */
  readonly contributions?: Readonly<Record<string, Float64Array>> | undefined;
}

/** Data available at a quarter, in addition to the index. */
export interface Known {
  /** Quarter number, see `quarterIndex`. */
  readonly quarter: number;
  /** Values of the model's `series` for all periods that ended by the end of the quarter. */
  readonly macro: MacroSeriesValues;
}

/** Runs a model over one panel. */
export interface Forecaster {
  /**
   * Processes the next quarter and returns its forecasts. `levels` contains the index level of each market, or `NaN`.
   * Neither the model nor the caller may modify the array.
   */
  next(levels: Float64Array, known: Known): QuarterForecasts;
}

export interface ForecastOptions {
  /** Minimum number of index values. Markets with fewer values so far are not forecast. */
  readonly minValues: number;
  /** Default: 12 months. */
  readonly horizon?: Horizon;
}

export const defaultForecastOptions: ForecastOptions = { minValues: 20 };

export interface ForecastModel {
  /** Name in kebab case, used to select the model in commands. */
  readonly name: string;
  /** Version of the formula. Change it whenever the formula changes. */
  readonly version: string;
  /** One-sentence description for help texts. */
  readonly summary: string;
  /** Names of the model's inputs, published with each run. */
  readonly features: readonly string[];
  /** Ids of the macro series that the model reads. */
  readonly series: readonly string[];
  /** Whether the model needs the latitude and longitude of each market's centre. */
  readonly needsCentres: boolean;
  /** Creates a forecaster for a panel. The forecaster receives every quarter of the panel, oldest first. */
  start(markets: readonly PanelMarket[], options: ForecastOptions): Forecaster;
}

/** Returns the model's name and version as published with forecasts, such as `metro-momentum-1.0.0`. */
export const modelVersion = (model: Pick<ForecastModel, 'name' | 'version'>): string =>
  `${model.name}-${model.version}`;
