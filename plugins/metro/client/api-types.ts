/** Types of the Metro Forecast API 1.0.0, written by `metro-forecast types` from its OpenAPI document. */

export type Area = {
  /** Core-based statistical area code. */
  readonly cbsa: string;
  /** Title from the Office of Management and Budget (July 2023), or name of the state. */
  readonly name: string;
  readonly kind: 'metropolitan' | 'division' | 'state' | 'nation';
  /** Postal codes of the states, in the order in which the title lists them. */
  readonly states: readonly string[];
  /** For a division, the code of its metropolitan area. */
  readonly parent: string | null;
  /** For a metropolitan area, the codes of its divisions. */
  readonly divisions: readonly string[];
  /** Latitude of the centre, in degrees. From the 2025 Census Gazetteer; for states, the centroid. A division has the same centre as its metro. */
  readonly latitude: number;
  /** Longitude of the centre in degrees east of Greenwich. */
  readonly longitude: number;
  /** Whether the area is a market in this snapshot. */
  readonly has_index: boolean;
};

export type AreaForecastHistory = ForecastHistory & {
  /** Core-based statistical area code. */
  readonly cbsa: string;
};

export type AreaForecastTrack = ForecastTrack & {
  /** Core-based statistical area code. */
  readonly cbsa: string;
};

export type Backtest = {
  /** Time of the newest completed run. */
  readonly as_of: string;
  readonly model_version: string;
  readonly horizon_months: number;
  /** Earliest target that was scored. */
  readonly window_start: string;
  /** Latest target that was scored. */
  readonly window_end: string;
  /** Number of scored forecasts. */
  readonly n: number;
  readonly n_metros: number;
  readonly n_runs: number;
  /** Mean absolute error, in percentage points. */
  readonly mae_pp: number;
  /** Root mean squared error, in percentage points. */
  readonly rmse_pp: number;
  /** Mean of `realized` minus `point`, in percentage points. */
  readonly bias_pp: number;
  /** Share of realized values inside the 80% interval. */
  readonly coverage_80: number;
  /** Mean interval score: width of the interval plus 10 times the amount by which the outcome missed it. Lower is better. */
  readonly interval_score_80: number;
  /** Share of forecasts that have the same sign as the realized change. */
  readonly direction_hit_rate: number;
  /** Persistence: the latest 12-month change known at run time, scored on the same forecasts. */
  readonly benchmark: {
    readonly name: string;
    /** Value in percentage points. */
    readonly mae_pp: number;
  };
  /** Skill relative to persistence: 1 - mae_pp / benchmark.mae_pp. */
  readonly skill_mae: number;
  /** Vintage of the realized values. */
  readonly realized_vintage: string;
  /** Share of realized values above 0: the hit rate of always forecasting "up". */
  readonly base_rate_up?: number;
  /** Number of scored forecasts with a realized value below 0. */
  readonly declines?: number;
  /** Number of declines with a point forecast below 0. */
  readonly declines_called?: number;
  /** Number of scored forecasts from published runs. */
  readonly n_published?: number;
  /** Number of scored forecasts from reconstructed runs. */
  readonly n_reconstructed?: number;
  /** Mean squared difference between `decline_probability` and the outcome: 1 for a decline, 0 otherwise. */
  readonly brier_score?: number;
  /** All benchmarks, scored on the same forecasts, most accurate first. `skill_mae` is the skill of the model relative to that benchmark. */
  readonly benchmarks?: readonly {
    readonly name: string;
    /** Value in percentage points. */
    readonly mae_pp: number;
    /** Fraction from 0 to 1. */
    readonly direction_hit_rate: number;
    readonly skill_mae: number;
  }[];
};

export type BacktestGroup = {
  /** Name of the group, such as a year, a grade or a range of probabilities. */
  readonly group: string;
  /** Number of scored forecasts. */
  readonly n: number;
  /** Mean point forecast, in percent. */
  readonly mean_point: number;
  /** Mean realized change, in percent. */
  readonly mean_realized: number;
  /** Mean absolute error, in percentage points. */
  readonly mae_pp: number;
  /** Mean absolute error of `persistence`, in percentage points. */
  readonly benchmark_mae_pp: number;
  /** Mean absolute error of `ar1_nation`, in percentage points. */
  readonly ar1_nation_mae_pp: number;
  /** Mean absolute error of `shrunk_mean`, in percentage points. */
  readonly shrunk_mean_mae_pp: number;
  /** Mean of `realized` minus `point`, in percentage points. */
  readonly bias_pp: number;
  /** Mean of `realized` minus the point forecast of persistence, in percentage points. */
  readonly benchmark_bias_pp: number;
  /** Share of realized values inside the 80% interval. */
  readonly coverage_80: number;
  /** Mean interval score: width of the interval plus 10 times the amount by which the outcome missed it. Lower is better. */
  readonly interval_score_80: number;
  /** Share of forecasts that have the same sign as the realized change. */
  readonly direction_hit_rate: number;
  /** Share of persistence forecasts that have the same sign as the realized change. */
  readonly benchmark_hit_rate: number;
  /** Hit rate of always forecasting "up": the share of realized values above 0. */
  readonly always_up_hit_rate: number;
  /** Number of realized values below 0. */
  readonly declines: number;
  /** Number of declines with a point forecast below 0. */
  readonly declines_called: number;
  /** Number of point forecasts below 0, whether right or wrong. */
  readonly decline_calls: number;
  /** Share of realized values below 0. */
  readonly decline_share: number;
  /** Mean `decline_probability`. Equals `decline_share` if probabilities are well calibrated. */
  readonly predicted_decline_share: number | null;
  /** Mean squared difference between `decline_probability` and the outcome: 1 for a decline, 0 otherwise. */
  readonly brier_score: number;
  /** Mean negative log likelihood of the outcomes. Probabilities below 0.001 count as 0.001. */
  readonly log_loss: number;
};

export type Driver = {
  readonly run_id: number;
  /** Point forecast of the run, in percent. */
  readonly point: number;
  /** Name of the model input. */
  readonly input: string;
  /** Contribution to `point`, in percentage points. All contributions add up to `point`, apart from rounding. */
  readonly contribution_pp: number;
  /** Contribution in the previous run, in percentage points. */
  readonly prior_contribution_pp: number | null;
  /** `contribution_pp` - `prior_contribution_pp`. */
  readonly change_pp: number | null;
};

export type Error = {
  /** What went wrong, and how to fix it. */
  readonly error: string;
  /** A stable code for programs. */
  readonly code: string;
  /** All problems found in the request. Only present with status 400. */
  readonly details?: readonly {
    readonly in: 'path' | 'query' | 'header' | 'body';
    readonly name: string;
    readonly issue: string;
  }[];
};

export type ForecastHistory = {
  /** Time at which the index for the run's quarter became known. Runs are ordered by this time. */
  readonly run_at: string;
  /** Identifier of the model version. */
  readonly model_version: string;
  /** Forecast horizon in months. */
  readonly horizon_months: number;
  /** First day of the quarter in which the forecast period ends. */
  readonly target_period: string;
  /** Point forecast, in percent. */
  readonly point: number;
  /** Lower bound of the 80% interval, in percent. Over many years, 80% of the outcomes should lie inside the interval; in any single year, far fewer may. */
  readonly lower_80: number | null;
  /** Upper bound of the 80% interval, in percent. */
  readonly upper_80: number | null;
  /** `published`: computed and served before the index of the next quarter was released. `reconstructed`: computed later from the data of `vintage`, without the quarters after the run. */
  readonly basis: 'published' | 'reconstructed';
  /** A day on which the data used by the run was available. */
  readonly vintage: string | null;
};

export type ForecastRun = {
  readonly id: number;
  readonly model_version: string;
  /** Time at which the index for the run's quarter became known. Runs are ordered by this time. */
  readonly run_at: string;
  /** Model features used by the run. */
  readonly features: readonly string[] | null;
  readonly notes: string | null;
  readonly horizon_months: number;
  /** `published`: computed and served before the index of the next quarter was released. `reconstructed`: computed later from the data of `vintage`, without the quarters after the run. */
  readonly basis: 'published' | 'reconstructed';
  /** A day on which the data used by the run was available. */
  readonly vintage: string | null;
  /** First day of the last index quarter used by the run. */
  readonly data_through: string | null;
  /** Time at which the run was computed. */
  readonly computed_at: string | null;
  /** Time of the first publication. */
  readonly published_at: string | null;
  /** Rules for signals and grades in this run. */
  readonly rules: {
    /** Minimum `point` for the signal `expand`, in percent. */
    readonly expand_point: number;
    /** The signal is `expand` only if `lower_80` is above this value, in percent. */
    readonly expand_lower: number;
    /** The signal is `contract` if `point` is below this value, in percent. */
    readonly contract_point: number;
    /** A market keeps its previous signal until its forecast crosses a threshold by more than this margin, in percentage points. */
    readonly margin: number;
    /** Upper limits of the probability of a decline for the grades A, B, C and D. A grade does not include its limit. All other probabilities get the grade F. */
    readonly grades: readonly number[];
  } | null;
  /** Coefficients estimated by the run. Empty if it published none. */
  readonly coefficients: readonly {
    readonly name: string;
    readonly value: number;
  }[];
  /** Share of markets whose signal changed since the previous quarter. */
  readonly signal_change_share: number | null;
  /** Model inputs, in the order of `contributions`, with their mean contribution to the point forecasts in percentage points. Empty if the run published none. */
  readonly inputs: readonly {
    readonly name: string;
    readonly mean_contribution_pp: number;
  }[];
};

export type ForecastTrack = ForecastHistory & {
  readonly run_id: number;
  /** `expand`: a point forecast of 4% or more, with a lower bound above 0%. `contract`: a point forecast below -1%. `hold`: everything else. A market keeps its previous signal until its forecast crosses a threshold by more than 1 percentage point. A run can use different thresholds: see its `rules` in `/forecast-runs`. */
  readonly signal: 'expand' | 'hold' | 'contract' | null;
  /** Grade based on `decline_probability`: A below 10%, B below 20%, C below 35%, D below 50%, otherwise F. A run can use different thresholds: see its `rules` in `/forecast-runs`. */
  readonly risk_score: 'A' | 'B' | 'C' | 'D' | 'F' | null;
  /** Published 12-month change at `target_period`, in percent. */
  readonly realized: number | null;
  /** `realized` - `point`, in percentage points. */
  readonly error_pp: number | null;
  /** Whether `realized` is within the 80% interval. */
  readonly within_80: boolean | null;
  /** Vintage of `realized`. */
  readonly realized_as_of: string | null;
  /** Probability of a decline. `risk_score` is derived from it. */
  readonly decline_probability: number | null;
  /** Point forecast of the persistence benchmark: the last 12-month change, scaled to the horizon, in percent. */
  readonly benchmark: number | null;
  /** Point forecast of a first-order autoregression on market and national growth, in percent. */
  readonly ar1_nation: number | null;
  /** 0.5 times the market's last 12-month growth, scaled to the horizon, plus 0.3 times national growth and 0.2 times the mean of all quarters, in percent. */
  readonly shrunk_mean: number | null;
};

export type Health = { readonly status: 'ok' };

export type HpiObservation = {
  /** First day of the quarter. */
  readonly period_start: string;
  /** Index level. */
  readonly value: number;
  /** Standard error of `value`. Only present if requested with `fields`. */
  readonly standard_error?: number | null;
};

export type MacroObservation = {
  /** Identifier of the series. Only present if several series are requested. */
  readonly series_id?: string;
  /** First day of the period. */
  readonly period_start: string;
  /** Value in the units of the series, or in the requested `units`. */
  readonly value: number;
  /** Code of the market. Only present in rows of `metro_hpi`. */
  readonly cbsa?: string;
  /** Price index used to deflate the values. Only present with `units=real`. */
  readonly deflator?: string;
  /** Base month of the prices. Only present with `units=real`. */
  readonly base_period?: string;
};

export type Market = {
  readonly id?: number;
  /** Core-based statistical area code. */
  readonly cbsa: string;
  /** Name of the area. */
  readonly name: string;
  /** `expand`: a point forecast of 4% or more, with a lower bound above 0%. `contract`: a point forecast below -1%. `hold`: everything else. A market keeps its previous signal until its forecast crosses a threshold by more than 1 percentage point. A run can use different thresholds: see its `rules` in `/forecast-runs`. */
  readonly signal?: 'expand' | 'hold' | 'contract' | null;
  /** Grade based on `decline_probability`: A below 10%, B below 20%, C below 35%, D below 50%, otherwise F. A run can use different thresholds: see its `rules` in `/forecast-runs`. */
  readonly risk_score?: 'A' | 'B' | 'C' | 'D' | 'F' | null;
  /** Change in the index over the last 12 months, in percent. */
  readonly yoy_price?: number | null;
  /** Forecast 12-month return: the change in the index over the 12 months after its newest quarter, in percent. */
  readonly forecast_12m?: number | null;
  /** Lower bound of the 80% interval, in percent. Over many years, 80% of the outcomes should lie inside the interval; in any single year, far fewer may. */
  readonly lower_80?: number | null;
  /** Upper bound of the 80% interval, in percent. */
  readonly upper_80?: number | null;
  /** Probability of a decline. `risk_score` is derived from it. */
  readonly decline_probability?: number | null;
  /** First day of the quarter in which the forecast period ends. */
  readonly target_period?: string | null;
  /** Run that computed the forecast. */
  readonly run_id?: number | null;
  /** `published`: computed and served before the index of the next quarter was released. `reconstructed`: computed later from the data of `vintage`, without the quarters after the run. */
  readonly basis?: 'published' | 'reconstructed' | null;
  /** Kind of area. */
  readonly kind?: 'metropolitan' | 'division' | 'state' | 'nation';
};

export type MarketForecast = Market & {
  /** Forecast horizon in months. */
  readonly horizon_months?: 3 | 6 | 12 | 24;
  /** Point forecast of the change over the horizon, in percent. */
  readonly point?: number;
};

export type MarketSignal = {
  /** Core-based statistical area code. */
  readonly cbsa: string;
  readonly name: string;
  /** `expand`: a point forecast of 4% or more, with a lower bound above 0%. `contract`: a point forecast below -1%. `hold`: everything else. A market keeps its previous signal until its forecast crosses a threshold by more than 1 percentage point. A run can use different thresholds: see its `rules` in `/forecast-runs`. */
  readonly signal?: 'expand' | 'hold' | 'contract' | null;
  /** Grade based on `decline_probability`: A below 10%, B below 20%, C below 35%, D below 50%, otherwise F. A run can use different thresholds: see its `rules` in `/forecast-runs`. */
  readonly risk_score?: 'A' | 'B' | 'C' | 'D' | 'F' | null;
  /** Forecast 12-month return: the change in the index over the 12 months after its newest quarter, in percent. */
  readonly forecast_12m?: number;
  /** Lower bound of the 80% interval, in percent. Over many years, 80% of the outcomes should lie inside the interval; in any single year, far fewer may. */
  readonly lower_80?: number | null;
  /** Upper bound of the 80% interval, in percent. */
  readonly upper_80?: number | null;
  readonly run_id?: number;
  readonly run_at?: string;
  readonly model_version?: string;
  /** `published`: computed and served before the index of the next quarter was released. `reconstructed`: computed later from the data of `vintage`, without the quarters after the run. */
  readonly basis?: 'published' | 'reconstructed';
};

export type Mover = {
  /** Core-based statistical area code. */
  readonly cbsa: string;
  readonly name: string;
  /** Value in percent. */
  readonly forecast_12m?: number;
  /** Value in percent. */
  readonly prior_forecast_12m?: number;
  /** Signed change from the prior forecast, in percentage points. */
  readonly delta_pp?: number;
  /** `expand`: a point forecast of 4% or more, with a lower bound above 0%. `contract`: a point forecast below -1%. `hold`: everything else. A market keeps its previous signal until its forecast crosses a threshold by more than 1 percentage point. A run can use different thresholds: see its `rules` in `/forecast-runs`. */
  readonly signal?: 'expand' | 'hold' | 'contract' | null;
  /** `expand`: a point forecast of 4% or more, with a lower bound above 0%. `contract`: a point forecast below -1%. `hold`: everything else. A market keeps its previous signal until its forecast crosses a threshold by more than 1 percentage point. A run can use different thresholds: see its `rules` in `/forecast-runs`. */
  readonly prior_signal?: 'expand' | 'hold' | 'contract' | null;
  readonly run_at?: string;
  readonly prior_run_at?: string;
  /** `published`: computed and served before the index of the next quarter was released. `reconstructed`: computed later from the data of `vintage`, without the quarters after the run. */
  readonly basis?: 'published' | 'reconstructed';
  /** Whether the prior run was published or reconstructed. */
  readonly prior_basis?: 'published' | 'reconstructed';
  /** Model input whose contribution changed most. */
  readonly driver?: string | null;
  /** Signed change in the contribution of `driver`, in percentage points. */
  readonly driver_pp?: number | null;
};

export type Quantile = {
  readonly run_id: number;
  /** Probability that the outcome is at most `value`. */
  readonly probability: number;
  /** 12-month change in the index, in percent. */
  readonly value: number;
};

export type Ready = { readonly status: 'ok' };

export type Series = {
  readonly series_id: string;
  readonly title: string;
  readonly kind: 'macro' | 'metro';
  readonly geography: string;
  readonly cadence: 'daily' | 'weekly' | 'biweekly' | 'monthly' | 'quarterly' | 'semiannual' | 'annual' | 'five-year' | 'irregular';
  readonly source: string;
  readonly units: string;
  readonly seasonal_adjustment: 'SA' | 'NSA' | 'SAAR' | null;
  readonly observation_start: string | null;
  readonly observation_end: string | null;
  readonly last_updated: string | null;
  readonly notes: string | null;
  /** Values that the parameter `units` of `/observations` accepts for this series. */
  readonly supported_units: readonly ('level' | 'change' | 'log' | 'yoy' | 'real')[];
};

export type Status = {
  /** The worst status among the components. */
  readonly status: 'operational' | 'unknown' | 'degraded' | 'outage';
  readonly generated_at: string;
  readonly snapshot: {
    readonly version: string;
    readonly published_at: string;
    /** Whether the data is synthetic. */
    readonly synthetic: boolean;
  } | null;
  readonly components: readonly {
    readonly id: 'api' | 'pipeline' | 'model';
    readonly status: 'operational' | 'unknown' | 'degraded' | 'outage';
    readonly message: string | null;
    readonly updated_at: string | null;
  }[];
  readonly sources: readonly {
    readonly id: string;
    readonly cadence: 'daily' | 'weekly' | 'biweekly' | 'monthly' | 'quarterly' | 'semiannual' | 'annual' | 'five-year' | 'irregular';
    readonly state: 'fresh' | 'late' | 'stale' | 'unknown';
    /** First day of the latest period. */
    readonly latest_period: string | null;
    readonly last_loaded_at: string | null;
    /** Seconds since the end of the latest period. */
    readonly age_seconds: number | null;
    readonly late_after_seconds: number;
    readonly stale_after_seconds: number;
  }[];
};

export type Vintage = {
  /** Name of the version, as in the header `Snapshot-Version`. */
  readonly version: string;
  /** A day on which the data was available. */
  readonly vintage: string;
  /** First day of the last quarter in the index. Null if the version has no index. */
  readonly data_through: string | null;
  /** Time at which the version became the current one. */
  readonly published_at: string;
  /** Whether the version is served to requests without `as_of`. */
  readonly current: boolean;
  /** Changes since the previous publication. Null if the store no longer has that version. */
  readonly changes: {
    /** Number of markets added or removed. */
    readonly markets: number;
    /** Number of values added to the index and the macro series. */
    readonly values_added: number;
    /** Number of values revised. */
    readonly values_revised: number;
    /** Number of values removed. */
    readonly values_removed: number;
    /** Number of completed runs added. */
    readonly runs_added: number;
  } | null;
};

/** Parameters shared by several paths. */
interface SharedParameters {
  /** Core-based statistical area code of the market: exactly 5 digits. `00000` is the nation, and `000` followed by a FIPS code is a state. */
  readonly cbsa: string;
  /** Kinds of areas, separated by commas. Default: `metropolitan,division`. */
  readonly kind?: readonly ('metropolitan' | 'division' | 'state' | 'nation')[];
  /** Risk grades. Separate several values with commas. A row matches if it has any of the values. */
  readonly risk_score?: readonly ('A' | 'B' | 'C' | 'D' | 'F')[];
  /** Maximum number of rows per page. A filtered page may have fewer. The `Link` header contains the URL of the next page. Default: all rows. */
  readonly limit?: number;
  /** Postal codes of states. A market can be in several states. Separate several values with commas. A row matches if it has any of the values. */
  readonly state?: readonly ('AK' | 'AL' | 'AR' | 'AZ' | 'CA' | 'CO' | 'CT' | 'DC' | 'DE' | 'FL' | 'GA' | 'HI' | 'IA' | 'ID' | 'IL' | 'IN' | 'KS' | 'KY' | 'LA' | 'MA' | 'MD' | 'ME' | 'MI' | 'MN' | 'MO' | 'MS' | 'MT' | 'NC' | 'ND' | 'NE' | 'NH' | 'NJ' | 'NM' | 'NV' | 'NY' | 'OH' | 'OK' | 'OR' | 'PA' | 'PR' | 'RI' | 'SC' | 'SD' | 'TN' | 'TX' | 'UT' | 'VA' | 'VT' | 'WA' | 'WI' | 'WV' | 'WY')[];
  /** Signals. Separate several values with commas. A row matches if it has any of the values. */
  readonly signal?: readonly ('expand' | 'hold' | 'contract')[];
  /** Start of the page. Copy the value from the previous page's `next` link, and keep the other parameters. */
  readonly after?: string;
  /** Earliest period, inclusive. */
  readonly since?: string;
  /** Latest period, inclusive. */
  readonly until?: string;
  /** Forecast horizon in months. */
  readonly horizon_months?: 3 | 6 | 12 | 24;
  /** The response format. Overrides the header `Accept`. Default: JSON. */
  readonly format?: 'json' | 'csv' | 'ndjson' | 'parquet';
  /** Selects the snapshot that was current at the end of this day (UTC) instead of the newest one. Returns a 404 if the store no longer has that snapshot or keeps only the newest one. */
  readonly as_of?: string;
}

/** The input (path and query parameters) and output of each path. */
export interface Paths {
  /** Every market with its latest signal, risk grade and 12-month forecast */
  readonly '/markets': {
    readonly input: Pick<SharedParameters, 'kind' | 'state' | 'signal' | 'risk_score' | 'limit' | 'after' | 'format' | 'as_of'> & {
      /** Properties to sort by, separated by commas. Prefix a property with "-" for descending order. Nulls come last. Ties are broken by `cbsa`. */
      readonly sort?: readonly ('id' | '-id' | 'cbsa' | '-cbsa' | 'name' | '-name' | 'signal' | '-signal' | 'risk_score' | '-risk_score' | 'yoy_price' | '-yoy_price' | 'forecast_12m' | '-forecast_12m' | 'lower_80' | '-lower_80' | 'upper_80' | '-upper_80' | 'decline_probability' | '-decline_probability' | 'target_period' | '-target_period' | 'run_id' | '-run_id' | 'basis' | '-basis' | 'kind' | '-kind')[];
      /** Properties of each row, separated by commas. Always included: cbsa, name. Default: all. */
      readonly fields?: readonly ('id' | 'cbsa' | 'name' | 'signal' | 'risk_score' | 'yoy_price' | 'forecast_12m' | 'lower_80' | 'upper_80' | 'decline_probability' | 'target_period' | 'run_id' | 'basis' | 'kind')[];
    };
    readonly output: { readonly data: readonly Market[] };
  };
  /** One market */
  readonly '/markets/{cbsa}': {
    readonly input: Pick<SharedParameters, 'cbsa' | 'as_of'>;
    readonly output: Market;
  };
  /** Every metropolitan area of the United States and its divisions */
  readonly '/areas': {
    readonly input: Pick<SharedParameters, 'kind' | 'format' | 'as_of'>;
    readonly output: { readonly data: readonly Area[] };
  };
  /** One metropolitan area, division or state */
  readonly '/areas/{cbsa}': {
    readonly input: Pick<SharedParameters, 'as_of'> & {
      /** Code of the area: exactly 5 digits. */
      readonly cbsa: string;
    };
    readonly output: Area;
  };
  /** The full quarterly house price index of one market */
  readonly '/markets/{cbsa}/history': {
    readonly input: Pick<SharedParameters, 'cbsa' | 'since' | 'until' | 'format' | 'as_of'> & {
      /** The fields of each row. `standard_error` is returned only on request, and is null if the dataset has no standard error for the quarter. */
      readonly fields?: readonly ('period_start' | 'value' | 'standard_error')[];
    };
    readonly output: { readonly data: readonly HpiObservation[] };
  };
  /** The markets with a forecast */
  readonly '/forecasts': {
    readonly input: Pick<SharedParameters, 'kind' | 'state' | 'signal' | 'risk_score' | 'limit' | 'after' | 'horizon_months' | 'format' | 'as_of'> & {
      /** Properties to sort by, separated by commas. Prefix a property with "-" for descending order. Nulls come last. Ties are broken by `cbsa`. */
      readonly sort?: readonly ('id' | '-id' | 'cbsa' | '-cbsa' | 'name' | '-name' | 'signal' | '-signal' | 'risk_score' | '-risk_score' | 'yoy_price' | '-yoy_price' | 'forecast_12m' | '-forecast_12m' | 'lower_80' | '-lower_80' | 'upper_80' | '-upper_80' | 'decline_probability' | '-decline_probability' | 'target_period' | '-target_period' | 'run_id' | '-run_id' | 'basis' | '-basis' | 'kind' | '-kind' | 'horizon_months' | '-horizon_months' | 'point' | '-point')[];
      /** Properties of each row, separated by commas. Always included: cbsa, name. Default: all. */
      readonly fields?: readonly ('id' | 'cbsa' | 'name' | 'signal' | 'risk_score' | 'yoy_price' | 'forecast_12m' | 'lower_80' | 'upper_80' | 'decline_probability' | 'target_period' | 'run_id' | 'basis' | 'kind' | 'horizon_months' | 'point')[];
    };
    readonly output: { readonly data: readonly MarketForecast[] };
  };
  /** The past forecasts for one market */
  readonly '/forecasts/{cbsa}/history': {
    readonly input: Pick<SharedParameters, 'cbsa' | 'since' | 'until' | 'horizon_months' | 'format' | 'as_of'>;
    readonly output: { readonly data: readonly ForecastHistory[] };
  };
  /** The past forecasts for one market, with realized values */
  readonly '/markets/{cbsa}/forecast-track': {
    readonly input: Pick<SharedParameters, 'cbsa' | 'since' | 'until' | 'horizon_months' | 'format' | 'as_of'>;
    readonly output: { readonly data: readonly ForecastTrack[] };
  };
  /** The past forecasts for all markets */
  readonly '/forecast-history': {
    readonly input: Pick<SharedParameters, 'since' | 'until' | 'horizon_months' | 'format' | 'as_of'> & {
      /** Restricts the list to these areas. 5-digit codes, separated by commas. */
      readonly cbsa?: readonly string[];
      /** Kinds of areas, separated by commas. Default: `metropolitan,division`. If `cbsa` is given, the default is all kinds. */
      readonly kind?: readonly ('metropolitan' | 'division' | 'state' | 'nation')[];
    };
    readonly output: { readonly data: readonly AreaForecastHistory[] };
  };
  /** The past forecasts for all markets, with realized values */
  readonly '/forecast-track': {
    readonly input: Pick<SharedParameters, 'since' | 'until' | 'horizon_months' | 'format' | 'as_of'> & {
      /** Restricts the list to these areas. 5-digit codes, separated by commas. */
      readonly cbsa?: readonly string[];
      /** Kinds of areas, separated by commas. Default: `metropolitan,division`. If `cbsa` is given, the default is all kinds. */
      readonly kind?: readonly ('metropolitan' | 'division' | 'state' | 'nation')[];
    };
    readonly output: { readonly data: readonly AreaForecastTrack[] };
  };
  /** Every completed model run */
  readonly '/forecast-runs': {
    readonly input: Pick<SharedParameters, 'horizon_months' | 'format' | 'as_of'>;
    readonly output: { readonly data: readonly ForecastRun[] };
  };
  /** The newest backtest of the forecasts */
  readonly '/forecast-backtest': {
    readonly input: Pick<SharedParameters, 'horizon_months' | 'as_of'>;
    readonly output: { readonly data: Backtest | null };
  };
  /** Accuracy of past forecasts by year, quarter, grade, signal, state, size, probability of a decline or basis */
  readonly '/forecast-backtest/breakdown': {
    readonly input: Pick<SharedParameters, 'since' | 'until' | 'kind' | 'format' | 'as_of'> & {
      /** Property to group by. */
      readonly by: 'year' | 'quarter' | 'grade' | 'signal' | 'state' | 'size' | 'probability' | 'basis';
    };
    readonly output: { readonly data: readonly BacktestGroup[] };
  };
  /** What each input of the model contributes to the newest forecast of one market */
  readonly '/markets/{cbsa}/drivers': {
    readonly input: Pick<SharedParameters, 'cbsa' | 'format' | 'as_of'>;
    readonly output: { readonly data: readonly Driver[] };
  };
  /** The 10%, 25%, 50%, 75% and 90% quantiles of the newest forecast of one market */
  readonly '/markets/{cbsa}/quantiles': {
    readonly input: Pick<SharedParameters, 'cbsa' | 'format' | 'as_of'>;
    readonly output: { readonly data: readonly Quantile[] };
  };
  /** Observations of one or several series */
  readonly '/observations': {
    readonly input: Pick<SharedParameters, 'since' | 'until' | 'format' | 'as_of'> & {
      /** Identifier of a macro series (see `/series`), or `metro_hpi` for the house price index of the metros. Separate several values with commas. Each row then includes its `series_id`. */
      readonly series_id: readonly string[];
      /** Restricts `metro_hpi` to these markets. 5-digit codes, separated by commas. */
      readonly cbsa?: readonly string[];
      /** `level`: as published. `change`: difference from the previous period; for daily and irregular series, from the previous observation. `log`: natural logarithm. `yoy`: percent change from the same period of the previous year; for weekly series, from 52 weeks earlier; for daily and irregular series, from the last observation on or before the same date. `real`: amounts of money and price indexes, adjusted to the prices of `base_period`, the newest month of CPIAUCSL. For periods longer than a month, the prices are the mean over the months, and the period is omitted if a month is missing. Values that cannot be computed are omitted. Computed values have 8 decimals. */
      readonly units?: 'level' | 'change' | 'log' | 'yoy' | 'real';
    };
    readonly output: { readonly data: readonly MacroObservation[] };
  };
  /** The catalogue of every published series */
  readonly '/series': {
    readonly input: Pick<SharedParameters, 'format' | 'as_of'>;
    readonly output: { readonly data: readonly Series[] };
  };
  /** Signal and risk grade of every market in the newest completed run */
  readonly '/signals': {
    readonly input: Pick<SharedParameters, 'kind' | 'state' | 'signal' | 'risk_score' | 'limit' | 'after' | 'format' | 'as_of'> & {
      /** Properties to sort by, separated by commas. Prefix a property with "-" for descending order. Nulls come last. Ties are broken by `cbsa`. */
      readonly sort?: readonly ('cbsa' | '-cbsa' | 'name' | '-name' | 'signal' | '-signal' | 'risk_score' | '-risk_score' | 'forecast_12m' | '-forecast_12m' | 'lower_80' | '-lower_80' | 'upper_80' | '-upper_80' | 'run_id' | '-run_id' | 'run_at' | '-run_at' | 'model_version' | '-model_version' | 'basis' | '-basis')[];
      /** Properties of each row, separated by commas. Always included: cbsa, name. Default: all. */
      readonly fields?: readonly ('cbsa' | 'name' | 'signal' | 'risk_score' | 'forecast_12m' | 'lower_80' | 'upper_80' | 'run_id' | 'run_at' | 'model_version' | 'basis')[];
    };
    readonly output: { readonly data: readonly MarketSignal[] };
  };
  /** The markets whose 12-month forecast changed most between the last two runs */
  readonly '/movers': {
    readonly input: Pick<SharedParameters, 'kind' | 'state' | 'signal' | 'after' | 'format' | 'as_of'> & {
      /** Properties to sort by, separated by commas. Prefix a property with "-" for descending order. Nulls come last. Ties are broken by `cbsa`. */
      readonly sort?: readonly ('cbsa' | '-cbsa' | 'name' | '-name' | 'forecast_12m' | '-forecast_12m' | 'prior_forecast_12m' | '-prior_forecast_12m' | 'delta_pp' | '-delta_pp' | 'signal' | '-signal' | 'prior_signal' | '-prior_signal' | 'run_at' | '-run_at' | 'prior_run_at' | '-prior_run_at' | 'basis' | '-basis' | 'prior_basis' | '-prior_basis' | 'driver' | '-driver' | 'driver_pp' | '-driver_pp')[];
      /** Properties of each row, separated by commas. Always included: cbsa, name. Default: all. */
      readonly fields?: readonly ('cbsa' | 'name' | 'forecast_12m' | 'prior_forecast_12m' | 'delta_pp' | 'signal' | 'prior_signal' | 'run_at' | 'prior_run_at' | 'basis' | 'prior_basis' | 'driver' | 'driver_pp')[];
      /** Maximum number of rows. */
      readonly limit?: number;
    };
    readonly output: { readonly data: readonly Mover[] };
  };
  /** The published versions, with their changes */
  readonly '/vintages': {
    readonly input: Readonly<Record<string, never>>;
    readonly output: { readonly data: readonly Vintage[] };
  };
  /** Health of the service, its components and its sources */
  readonly '/status': {
    readonly input: Readonly<Record<string, never>>;
    readonly output: Status;
  };
  /** Whether this replica can receive requests */
  readonly '/ready': {
    readonly input: Readonly<Record<string, never>>;
    readonly output: Ready;
  };
  /** Whether this replica is ready and can reach its storage */
  readonly '/health': {
    readonly input: Readonly<Record<string, never>>;
    readonly output: Health;
  };
  /** This OpenAPI document */
  readonly '/openapi.json': {
    readonly input: Readonly<Record<string, never>>;
    readonly output: {
      readonly openapi: string;
      readonly info: Readonly<Record<string, unknown>>;
      readonly paths: Readonly<Record<string, unknown>>;
    };
  };
}
