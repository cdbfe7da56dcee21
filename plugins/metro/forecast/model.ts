/**
 * The model contract. A model is shown the quarters one after the other and forecasts from what it has seen,
 * so that it cannot look ahead.
 */
import type { MacroSeriesValues, PanelMarket } from './panel.js';

/** All forecasts are of 12 months: what `forecast_12m`, signals and grades are about. */
export const HORIZON_MONTHS = 12;
export const HORIZON_QUARTERS = 4;

/**
 * One forecast per market, in the panel's order: the change of the index over the next 12 months in percent,
 * and the bounds of its 80% interval. `NaN` where there is none; bounds come in pairs, and with a point.
 */
export interface QuarterForecasts {
  readonly point: Float64Array;
  readonly lower: Float64Array;
  readonly upper: Float64Array;
  /** The coefficients of the fit by regressor, of models that have them. */
  readonly coefficients?: Readonly<Record<string, number>> | undefined;
}

/** What else is known at a quarter. */
export interface Known {
  /** Index of the quarter, as counted by `quarterIndex`. */
  readonly quarter: number;
  /** The model's `series`, each up to the last period that ended with the quarter or before it. */
  readonly macro: MacroSeriesValues;
}

/** A model at work on one panel. */
export interface Forecaster {
  /**
   * Takes the next quarter, with every market's index level or `NaN`, and forecasts from it. The array is
   * the caller's: it must not be changed, and will not be.
   */
  next(levels: Float64Array, known: Known): QuarterForecasts;
}

export interface ForecastOptions {
  /** Markets with fewer values so far are left out. */
  readonly minValues: number;
}

export const defaultForecastOptions: ForecastOptions = { minValues: 20 };

export interface ForecastModel {
  /** Kebab-case; what it is chosen by. */
  readonly name: string;
  /** Another formula needs another version. */
  readonly version: string;
  /** One sentence for help pages. */
  readonly summary: string;
  /** What it forecasts from; published with each run. */
  readonly features: readonly string[];
  /** Ids of the macro series that it reads. */
  readonly series: readonly string[];
  /** Whether it needs the centres of the markets. */
  readonly needsCentres: boolean;
  /** Begins before the first quarter of a panel. */
  start(markets: readonly PanelMarket[], options: ForecastOptions): Forecaster;
}

/** The identifier that forecasts are published under. */
export const modelVersion = (model: Pick<ForecastModel, 'name' | 'version'>): string =>
  `${model.name}-${model.version}`;
