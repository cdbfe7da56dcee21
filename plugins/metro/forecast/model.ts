/**
 * The contract for models. A model receives the quarters one by one and makes forecasts at each quarter, so it cannot
 * use data from later quarters.
 */
import type { MacroSeriesValues, PanelMarket } from './panel.js';

/** The horizons of forecasts in months. Signals, grades and the record refer to the main horizon. */
export const HORIZONS = [3, 6, 12, 24] as const;
export type Horizon = (typeof HORIZONS)[number];
export const HORIZON_MONTHS = 12;

/**
 * The horizons for the nation and the states. Shorter horizons are left out: a benchmark was as good as the model for the
 * states at 3 months, and for the nation at 6 months.
 */
export const WIDE_HORIZONS: readonly Horizon[] = [12, 24];

const MONTHS_IN_QUARTER = 3;
export const quartersOf = (months: number): number => months / MONTHS_IN_QUARTER;

/**
 * One forecast per market, in the order of the panel: the change in the index over the horizon in percent, and the
 * bounds of its 80% interval. `NaN` is a missing value. A forecast has either both bounds or none.
 */
export interface QuarterForecasts {
  readonly point: Float64Array;
  readonly lower: Float64Array;
  readonly upper: Float64Array;
  /** The fitted coefficients by regressor, if the model has any. */
  readonly coefficients?: Readonly<Record<string, number>> | undefined;
  /** How much each input contributes to the point forecasts, in percentage points. They sum to the point forecast. */
  readonly contributions?: Readonly<Record<string, Float64Array>> | undefined;
}

/** Data that is known at a quarter, in addition to the index. */
export interface Known {
  /** The number of the quarter, as computed by `quarterIndex`. */
  readonly quarter: number;
  /** The model's `series`, each up to the last period that ended by the end of the quarter. */
  readonly macro: MacroSeriesValues;
}

/** A model that processes one panel. */
export interface Forecaster {
  /**
   * Adds the next quarter and returns the forecasts made at it. `levels` has the index level of each market, or `NaN`.
   * Neither the model nor the caller may change the array.
   */
  next(levels: Float64Array, known: Known): QuarterForecasts;
}

export interface ForecastOptions {
  /** The minimum number of values. Markets with fewer values so far are left out. */
  readonly minValues: number;
  /** Default: 12 months. */
  readonly horizon?: Horizon;
}

export const defaultForecastOptions: ForecastOptions = { minValues: 20 };

export interface ForecastModel {
  /** The name of the model in kebab case, which selects it in commands. */
  readonly name: string;
  /** The version of the formula. Change it whenever the formula changes. */
  readonly version: string;
  /** A one-sentence description for help texts. */
  readonly summary: string;
  /** The names of the model's inputs, which are published with each run. */
  readonly features: readonly string[];
  /** The ids of the macro series that the model reads. */
  readonly series: readonly string[];
  /** Whether the model needs the centres of the markets. */
  readonly needsCentres: boolean;
  /** Creates a forecaster, which then receives the quarters of a panel from the first one on. */
  start(markets: readonly PanelMarket[], options: ForecastOptions): Forecaster;
}

/** Returns the model version that is published with forecasts. */
export const modelVersion = (model: Pick<ForecastModel, 'name' | 'version'>): string =>
  `${model.name}-${model.version}`;
