/**
 * The contract of models. A model gets the quarters one after another and forecasts at each of them, so that it cannot
 * look ahead.
 */
import type { MacroSeriesValues, PanelMarket } from './panel.js';

/** The horizon of all forecasts. */
export const HORIZON_MONTHS = 12;
export const HORIZON_QUARTERS = 4;

/**
 * One forecast per market, in the order of the panel: the change of the index over the next 12 months in percent, and the
 * bounds of its 80% interval. `NaN` is a missing value. A forecast has both bounds or none.
 */
export interface QuarterForecasts {
  readonly point: Float64Array;
  readonly lower: Float64Array;
  readonly upper: Float64Array;
  /** The coefficients of the fit by regressor, if the model has them. */
  readonly coefficients?: Readonly<Record<string, number>> | undefined;
  /** What each input contributes to the points, in percentage points. The contributions to a point sum to it. */
  readonly contributions?: Readonly<Record<string, Float64Array>> | undefined;
}

/** Other data that is known at a quarter. */
export interface Known {
  /** Index of the quarter, as counted by `quarterIndex`. */
  readonly quarter: number;
  /** The model's `series`, each up to the last period that ended with the quarter or before it. */
  readonly macro: MacroSeriesValues;
}

/** A model that runs over one panel. */
export interface Forecaster {
  /**
   * Adds the next quarter, with the index level of each market or `NaN`, and forecasts from it. Neither side changes the
   * array.
   */
  next(levels: Float64Array, known: Known): QuarterForecasts;
}

export interface ForecastOptions {
  /** Markets with fewer values so far are left out. */
  readonly minValues: number;
}

export const defaultForecastOptions: ForecastOptions = { minValues: 20 };

export interface ForecastModel {
  /** In kebab-case. Selects the model in commands. */
  readonly name: string;
  /** Changes with the formula. */
  readonly version: string;
  /** One sentence for help pages. */
  readonly summary: string;
  /** Its inputs, published with each run. */
  readonly features: readonly string[];
  /** Ids of its macro series. */
  readonly series: readonly string[];
  /** Whether it needs the centres of the markets. */
  readonly needsCentres: boolean;
  /** Starts before the first quarter of a panel. */
  start(markets: readonly PanelMarket[], options: ForecastOptions): Forecaster;
}

/** The model version of published forecasts. */
export const modelVersion = (model: Pick<ForecastModel, 'name' | 'version'>): string =>
  `${model.name}-${model.version}`;
