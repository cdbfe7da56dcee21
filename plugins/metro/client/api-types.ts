/** Types of the Metro Forecast API 1.0.0, written by `metro-forecast types` from its OpenAPI document. */

export type Area = {
  /** Core-based statistical area code. */
  readonly cbsa: string;
  /** Title by the Office of Management and Budget, July 2023. */
  readonly name: string;
  readonly kind: 'metropolitan' | 'division';
  /** Postal codes, in the sequence of the title. */
  readonly states: readonly string[];
  /** The metropolitan area that a division is part of. */
  readonly parent: string | null;
  /** Divisions of a metropolitan area. */
  readonly divisions: readonly string[];
  /** Of the centre by the Census Gazetteer of 2025, in degrees; of the parent for a division. */
  readonly latitude: number;
  /** In degrees, east of Greenwich. */
  readonly longitude: number;
  /** Whether it is a market of this snapshot. */
  readonly has_index: boolean;
};

export type AreaForecastHistory = {
  /** Core-based statistical area code. */
  readonly cbsa: string;
  /** When the run was made. */
  readonly run_at: string;
  /** Identifier of the model version. */
  readonly model_version: string;
  /** Forecast horizon in months. */
  readonly horizon_months: number;
  /** First day of the quarter whose 12-month change is forecast. */
  readonly target_period: string;
  /** Point forecast, in percent. */
  readonly point: number;
  /** Lower bound of the 80% interval, in percent: over the years, four of five outcomes lie inside the interval. `expand` needs it above 0. */
  readonly lower_80: number | null;
  /** Upper bound of the 80% interval, in percent. */
  readonly upper_80: number | null;
  /** `published`: as it was published at its time. `reconstructed`: computed later, from data of `vintage` up to its quarter. */
  readonly basis: 'published' | 'reconstructed';
  /** Date up to which the data that it was computed from was known. */
  readonly vintage: string | null;
};

export type AreaForecastTrack = {
  /** Core-based statistical area code. */
  readonly cbsa: string;
  /** When the run was made. */
  readonly run_at: string;
  /** Identifier of the model version. */
  readonly model_version: string;
  /** Forecast horizon in months. */
  readonly horizon_months: number;
  /** First day of the quarter whose 12-month change is forecast. */
  readonly target_period: string;
  /** Point forecast, in percent. */
  readonly point: number;
  /** Lower bound of the 80% interval, in percent: over the years, four of five outcomes lie inside the interval. `expand` needs it above 0. */
  readonly lower_80: number | null;
  /** Upper bound of the 80% interval, in percent. */
  readonly upper_80: number | null;
  /** `published`: as it was published at its time. `reconstructed`: computed later, from data of `vintage` up to its quarter. */
  readonly basis: 'published' | 'reconstructed';
  /** Date up to which the data that it was computed from was known. */
  readonly vintage: string | null;
  readonly run_id: number;
  /** `expand`: a point forecast of 4% or more, with a lower bound above 0%. `contract`: a point forecast below 0%. `hold`: everything else. A run may have other thresholds: see its `rules` in `/forecast-runs`. */
  readonly signal: 'expand' | 'hold' | 'contract' | null;
  /** Grade of the probability that the index declines: A below 10%, B below 20%, C below 35%, D below 50%, F from there on. Probabilities are calibrated by what came true of earlier forecasts. A run may have other thresholds: see its `rules` in `/forecast-runs`. */
  readonly risk_score: 'A' | 'B' | 'C' | 'D' | 'F' | null;
  /** The published 12-month change at `target_period`, in percent. */
  readonly realized: number | null;
  /** `realized` - `point`, in percentage points. */
  readonly error_pp: number | null;
  /** Whether `realized` lies in the 80% interval. */
  readonly within_80: boolean | null;
  /** The vintage that `realized` was read from. */
  readonly realized_as_of: string | null;
  /** Probability of a decline that `risk_score` grades. */
  readonly decline_probability: number | null;
};

export type Backtest = {
  /** When the backtest was computed. */
  readonly as_of: string;
  readonly model_version: string;
  readonly horizon_months: number;
  /** First target scored. */
  readonly window_start: string;
  /** Last target scored. */
  readonly window_end: string;
  /** Scored forecasts. */
  readonly n: number;
  readonly n_metros: number;
  readonly n_runs: number;
  /** Mean absolute error. */
  readonly mae_pp: number;
  /** Root mean squared error. */
  readonly rmse_pp: number;
  /** Mean of realized - point, in percentage points. */
  readonly bias_pp: number;
  /** Share of realized values inside the 80% interval. */
  readonly coverage_80: number;
  /** Mean of the width + 10 times the miss. */
  readonly interval_score_80: number;
  /** Share of forecasts with the sign of the realized change. */
  readonly direction_hit_rate: number;
  /** Persistence: the last 12-month change known at run time, on the same pairs. */
  readonly benchmark: {
    readonly name: string;
    /** In percentage points. */
    readonly mae_pp: number;
  };
  /** 1 - mae_pp / benchmark.mae_pp. */
  readonly skill_mae: number;
  /** Vintage of the realized values. */
  readonly realized_vintage: string;
  /** Share of realized values above 0: the hit rate of a constant forecast of "up". */
  readonly base_rate_up?: number;
  /** Scored forecasts whose realized value is below 0. */
  readonly declines?: number;
  /** Declines with a point forecast below 0. */
  readonly declines_called?: number;
};

export type BacktestGroup = {
  /** The year, quarter, grade, signal, state or size of forecast. */
  readonly group: string;
  /** Scored forecasts. */
  readonly n: number;
  /** Mean point forecast, in percent. */
  readonly mean_point: number;
  /** Mean published change, in percent. */
  readonly mean_realized: number;
  /** Mean absolute error, in percentage points. */
  readonly mae_pp: number;
  /** The same for persistence. */
  readonly benchmark_mae_pp: number;
  /** Mean of realized - point, in percentage points. */
  readonly bias_pp: number;
  /** The same for persistence. */
  readonly benchmark_bias_pp: number;
  /** Share of realized values inside the 80% interval. */
  readonly coverage_80: number;
  /** Mean of the width + 10 times the miss. */
  readonly interval_score_80: number;
  /** Share of forecasts with the sign of the realized change. */
  readonly direction_hit_rate: number;
  /** The same for persistence. */
  readonly benchmark_hit_rate: number;
  /** The same for a forecast of "up" each time: the share of realized values above 0. */
  readonly always_up_hit_rate: number;
  /** Realized values below 0. */
  readonly declines: number;
  /** Declines with a point forecast below 0. */
  readonly declines_called: number;
  /** Point forecasts below 0, whether right or wrong. */
  readonly decline_calls: number;
  /** Share of realized values below 0. */
  readonly decline_share: number;
  /** Mean `decline_probability` of the same forecasts. Close to `decline_share` if grades are well calibrated. */
  readonly predicted_decline_share: number | null;
};

export type Error = {
  /** What is wrong, and what to do. */
  readonly error: string;
  /** A stable code. */
  readonly code: string;
  /** All problems of the request. On status 400 only. */
  readonly details?: readonly {
    readonly in: 'path' | 'query' | 'header' | 'body';
    readonly name: string;
    readonly issue: string;
  }[];
};

export type ForecastHistory = {
  /** When the run was made. */
  readonly run_at: string;
  /** Identifier of the model version. */
  readonly model_version: string;
  /** Forecast horizon in months. */
  readonly horizon_months: number;
  /** First day of the quarter whose 12-month change is forecast. */
  readonly target_period: string;
  /** Point forecast, in percent. */
  readonly point: number;
  /** Lower bound of the 80% interval, in percent: over the years, four of five outcomes lie inside the interval. `expand` needs it above 0. */
  readonly lower_80: number | null;
  /** Upper bound of the 80% interval, in percent. */
  readonly upper_80: number | null;
  /** `published`: as it was published at its time. `reconstructed`: computed later, from data of `vintage` up to its quarter. */
  readonly basis: 'published' | 'reconstructed';
  /** Date up to which the data that it was computed from was known. */
  readonly vintage: string | null;
};

export type ForecastRun = {
  readonly id: number;
  readonly model_version: string;
  readonly run_at: string;
  /** Feature set of the run. */
  readonly features: readonly string[] | null;
  readonly notes: string | null;
  readonly horizon_months: number;
  /** `published`: as it was published at its time. `reconstructed`: computed later, from data of `vintage` up to its quarter. */
  readonly basis: 'published' | 'reconstructed';
  /** Date up to which the data that it was computed from was known. */
  readonly vintage: string | null;
  /** When it was first published. */
  readonly published_at: string | null;
  /** The rules of signals and grades at the run. */
  readonly rules: {
    /** `expand` needs a `point` of at least this, */
    readonly expand_point: number;
    /** and a `lower_80` above this. */
    readonly expand_lower: number;
    /** `contract` is a `point` below this. */
    readonly contract_point: number;
    /** Probabilities of a decline below which the grade is A, B, C and D; F from the last one on. */
    readonly grades: readonly number[];
  } | null;
  /** Coefficients of the fit at the run. Empty if it published none. */
  readonly coefficients: readonly {
    readonly name: string;
    readonly value: number;
  }[];
};

export type ForecastTrack = {
  /** When the run was made. */
  readonly run_at: string;
  /** Identifier of the model version. */
  readonly model_version: string;
  /** Forecast horizon in months. */
  readonly horizon_months: number;
  /** First day of the quarter whose 12-month change is forecast. */
  readonly target_period: string;
  /** Point forecast, in percent. */
  readonly point: number;
  /** Lower bound of the 80% interval, in percent: over the years, four of five outcomes lie inside the interval. `expand` needs it above 0. */
  readonly lower_80: number | null;
  /** Upper bound of the 80% interval, in percent. */
  readonly upper_80: number | null;
  /** `published`: as it was published at its time. `reconstructed`: computed later, from data of `vintage` up to its quarter. */
  readonly basis: 'published' | 'reconstructed';
  /** Date up to which the data that it was computed from was known. */
  readonly vintage: string | null;
  readonly run_id: number;
  /** `expand`: a point forecast of 4% or more, with a lower bound above 0%. `contract`: a point forecast below 0%. `hold`: everything else. A run may have other thresholds: see its `rules` in `/forecast-runs`. */
  readonly signal: 'expand' | 'hold' | 'contract' | null;
  /** Grade of the probability that the index declines: A below 10%, B below 20%, C below 35%, D below 50%, F from there on. Probabilities are calibrated by what came true of earlier forecasts. A run may have other thresholds: see its `rules` in `/forecast-runs`. */
  readonly risk_score: 'A' | 'B' | 'C' | 'D' | 'F' | null;
  /** The published 12-month change at `target_period`, in percent. */
  readonly realized: number | null;
  /** `realized` - `point`, in percentage points. */
  readonly error_pp: number | null;
  /** Whether `realized` lies in the 80% interval. */
  readonly within_80: boolean | null;
  /** The vintage that `realized` was read from. */
  readonly realized_as_of: string | null;
  /** Probability of a decline that `risk_score` grades. */
  readonly decline_probability: number | null;
};

export type Health = {
  readonly status: 'ok';
};

export type HpiObservation = {
  /** First day of the quarter. */
  readonly period_start: string;
  /** Index level. */
  readonly value: number;
  /** Standard error of `value`. Only with `fields`. */
  readonly standard_error?: number | null;
};

export type MacroObservation = {
  /** The series. Only if several are requested. */
  readonly series_id?: string;
  /** First day of the period. */
  readonly period_start: string;
  /** In the units of the series, or as `units` says. */
  readonly value: number;
  /** The market, on rows of `metro_hpi`. */
  readonly cbsa?: string;
  /** The series that values are divided by. Only with `units=real`. */
  readonly deflator?: string;
};

export type Market = {
  readonly id: number;
  /** Core-based statistical area code. */
  readonly cbsa: string;
  /** Name of the metro. */
  readonly name: string;
  /** `expand`: a point forecast of 4% or more, with a lower bound above 0%. `contract`: a point forecast below 0%. `hold`: everything else. A run may have other thresholds: see its `rules` in `/forecast-runs`. */
  readonly signal: 'expand' | 'hold' | 'contract' | null;
  /** Grade of the probability that the index declines: A below 10%, B below 20%, C below 35%, D below 50%, F from there on. Probabilities are calibrated by what came true of earlier forecasts. A run may have other thresholds: see its `rules` in `/forecast-runs`. */
  readonly risk_score: 'A' | 'B' | 'C' | 'D' | 'F' | null;
  /** Trailing 12-month change of the index, in percent. */
  readonly yoy_price: number | null;
  /** Forecast 12-month return: the change of the index over the 12 months after its newest quarter, in percent. `expand` needs 4 or more, `contract` is below 0. */
  readonly forecast_12m: number | null;
};

export type MarketSignal = {
  /** Core-based statistical area code. */
  readonly cbsa: string;
  readonly name: string;
  /** `expand`: a point forecast of 4% or more, with a lower bound above 0%. `contract`: a point forecast below 0%. `hold`: everything else. A run may have other thresholds: see its `rules` in `/forecast-runs`. */
  readonly signal: 'expand' | 'hold' | 'contract' | null;
  /** Grade of the probability that the index declines: A below 10%, B below 20%, C below 35%, D below 50%, F from there on. Probabilities are calibrated by what came true of earlier forecasts. A run may have other thresholds: see its `rules` in `/forecast-runs`. */
  readonly risk_score: 'A' | 'B' | 'C' | 'D' | 'F' | null;
  /** Forecast 12-month return: the change of the index over the 12 months after its newest quarter, in percent. `expand` needs 4 or more, `contract` is below 0. */
  readonly forecast_12m: number;
  /** Lower bound of the 80% interval, in percent: over the years, four of five outcomes lie inside the interval. `expand` needs it above 0. */
  readonly lower_80: number | null;
  /** Upper bound of the 80% interval, in percent. */
  readonly upper_80: number | null;
  readonly run_id: number;
  readonly run_at: string;
  readonly model_version: string;
};

export type Mover = {
  /** Core-based statistical area code. */
  readonly cbsa: string;
  readonly name: string;
  /** In percent. */
  readonly forecast_12m: number;
  /** In percent. */
  readonly prior_forecast_12m: number;
  /** Current - prior, in percentage points, signed. */
  readonly delta_pp: number;
  /** `expand`: a point forecast of 4% or more, with a lower bound above 0%. `contract`: a point forecast below 0%. `hold`: everything else. A run may have other thresholds: see its `rules` in `/forecast-runs`. */
  readonly signal: 'expand' | 'hold' | 'contract' | null;
  /** `expand`: a point forecast of 4% or more, with a lower bound above 0%. `contract`: a point forecast below 0%. `hold`: everything else. A run may have other thresholds: see its `rules` in `/forecast-runs`. */
  readonly prior_signal: 'expand' | 'hold' | 'contract' | null;
  readonly run_at: string;
  readonly prior_run_at: string;
};

export type Ready = {
  readonly status: 'ok';
};

export type Series = {
  readonly series_id: string;
  readonly title: string;
  readonly kind: 'macro' | 'metro';
  readonly geography: string;
  readonly cadence: 'daily' | 'weekly' | 'monthly' | 'quarterly' | 'annual';
  readonly source: string;
  readonly units: string;
  readonly seasonal_adjustment: 'SA' | 'NSA' | 'SAAR' | null;
  readonly observation_start: string | null;
  readonly observation_end: string | null;
  readonly last_updated: string | null;
  readonly notes: string | null;
};

export type Status = {
  /** That of the worst component. */
  readonly status: 'operational' | 'unknown' | 'degraded' | 'outage';
  readonly generated_at: string;
  readonly snapshot: {
    readonly version: string;
    readonly published_at: string;
    /** Whether the numbers are made up. */
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
    readonly cadence: 'daily' | 'weekly' | 'monthly' | 'quarterly' | 'annual';
    readonly state: 'fresh' | 'late' | 'stale' | 'unknown';
    /** First day of the newest period. */
    readonly latest_period: string | null;
    readonly last_loaded_at: string | null;
    /** Since the end of the newest period. */
    readonly age_seconds: number | null;
    readonly late_after_seconds: number;
    readonly stale_after_seconds: number;
  }[];
};

export type Vintage = {
  /** As in the header `Snapshot-Version`. */
  readonly version: string;
  /** Date up to which its data was known. */
  readonly vintage: string;
  /** When it became the current version. */
  readonly published_at: string;
  /** Whether it is served without `as_of`. */
  readonly current: boolean;
  /** Since the previous publication. Null if the store no longer has it. */
  readonly changes: {
    /** Markets that came or went. */
    readonly markets: number;
    /** Values of the index and of macro series that the publication before did not have. */
    readonly values_added: number;
    /** Values that it had otherwise. */
    readonly values_revised: number;
    /** Values that it had, and this one has not. */
    readonly values_removed: number;
    /** Completed runs that it did not have. */
    readonly runs_added: number;
  } | null;
};

/** The input of each path, with path and query parameters, and its output. */
export interface Paths {
  /** Every market with its latest signal, risk grade and 12-month forecast */
  readonly '/markets': {
    readonly input: {
      /** Postal codes of states. A market can lie in several. Several are separated by commas; a row matches any of them. */
      readonly state?: string;
      /** Signals: expand, hold, contract. Several are separated by commas; a row matches any of them. */
      readonly signal?: string;
      /** Risk grades: A, B, C, D, F. Several are separated by commas; a row matches any of them. */
      readonly risk_score?: string;
      /** What to sort by: id, cbsa, name, signal, risk_score, yoy_price, forecast_12m. Ascending; descending with a "-" before it. Nulls come last. */
      readonly sort?: string;
      /** Which keys each row has, separated by commas: id, cbsa, name, signal, risk_score, yoy_price, forecast_12m. Their sequence stays the same. */
      readonly fields?: string;
      /** The most rows of a page. The header `Link` then has the next page. Default: all rows. */
      readonly limit?: number;
      /** Where the page starts: copy it from the `next` link of the previous page, and keep the other parameters. */
      readonly after?: string;
      /** The format of the response; wins over the header `Accept`. Without both: JSON. */
      readonly format?: 'json' | 'csv' | 'ndjson';
      /** Answers from the snapshot that was current at the end of this day, in UTC, instead of the newest. Where the store keeps no snapshot of that time, or no earlier snapshots at all, that is a 404. */
      readonly as_of?: string;
    };
    readonly output: {
      readonly data: readonly Market[];
    };
  };
  /** One market */
  readonly '/markets/{cbsa}': {
    readonly input: {
      /** Core-based statistical area code of the market: exactly 5 digits. */
      readonly cbsa: string;
      /** Answers from the snapshot that was current at the end of this day, in UTC, instead of the newest. Where the store keeps no snapshot of that time, or no earlier snapshots at all, that is a 404. */
      readonly as_of?: string;
    };
    readonly output: Market;
  };
  /** Every metropolitan area of the United States and its divisions */
  readonly '/areas': {
    readonly input: {
      /** The format of the response; wins over the header `Accept`. Without both: JSON. */
      readonly format?: 'json' | 'csv' | 'ndjson';
      /** Answers from the snapshot that was current at the end of this day, in UTC, instead of the newest. Where the store keeps no snapshot of that time, or no earlier snapshots at all, that is a 404. */
      readonly as_of?: string;
    };
    readonly output: {
      readonly data: readonly Area[];
    };
  };
  /** One metropolitan area or division */
  readonly '/areas/{cbsa}': {
    readonly input: {
      /** Code of the area or division: exactly 5 digits. */
      readonly cbsa: string;
      /** Answers from the snapshot that was current at the end of this day, in UTC, instead of the newest. Where the store keeps no snapshot of that time, or no earlier snapshots at all, that is a 404. */
      readonly as_of?: string;
    };
    readonly output: Area;
  };
  /** The full quarterly house price index of one market */
  readonly '/markets/{cbsa}/history': {
    readonly input: {
      /** Core-based statistical area code of the market: exactly 5 digits. */
      readonly cbsa: string;
      /** Earliest period, inclusive. */
      readonly since?: string;
      /** Latest period, inclusive. */
      readonly until?: string;
      /** Which keys each row has, separated by commas: period_start, value, and standard_error, which is null where the dataset has none. Without it: period_start and value. */
      readonly fields?: string;
      /** The format of the response; wins over the header `Accept`. Without both: JSON. */
      readonly format?: 'json' | 'csv' | 'ndjson';
      /** Answers from the snapshot that was current at the end of this day, in UTC, instead of the newest. Where the store keeps no snapshot of that time, or no earlier snapshots at all, that is a 404. */
      readonly as_of?: string;
    };
    readonly output: {
      readonly data: readonly HpiObservation[];
    };
  };
  /** The markets that have a scored forecast */
  readonly '/forecasts': {
    readonly input: {
      /** Postal codes of states. A market can lie in several. Several are separated by commas; a row matches any of them. */
      readonly state?: string;
      /** Signals: expand, hold, contract. Several are separated by commas; a row matches any of them. */
      readonly signal?: string;
      /** Risk grades: A, B, C, D, F. Several are separated by commas; a row matches any of them. */
      readonly risk_score?: string;
      /** What to sort by: id, cbsa, name, signal, risk_score, yoy_price, forecast_12m. Ascending; descending with a "-" before it. Nulls come last. */
      readonly sort?: string;
      /** Which keys each row has, separated by commas: id, cbsa, name, signal, risk_score, yoy_price, forecast_12m. Their sequence stays the same. */
      readonly fields?: string;
      /** The most rows of a page. The header `Link` then has the next page. Default: all rows. */
      readonly limit?: number;
      /** Where the page starts: copy it from the `next` link of the previous page, and keep the other parameters. */
      readonly after?: string;
      /** The format of the response; wins over the header `Accept`. Without both: JSON. */
      readonly format?: 'json' | 'csv' | 'ndjson';
      /** Answers from the snapshot that was current at the end of this day, in UTC, instead of the newest. Where the store keeps no snapshot of that time, or no earlier snapshots at all, that is a 404. */
      readonly as_of?: string;
    };
    readonly output: {
      readonly data: readonly Market[];
    };
  };
  /** The past forecasts for one market */
  readonly '/forecasts/{cbsa}/history': {
    readonly input: {
      /** Core-based statistical area code of the market: exactly 5 digits. */
      readonly cbsa: string;
      /** Earliest period, inclusive. */
      readonly since?: string;
      /** Latest period, inclusive. */
      readonly until?: string;
      /** The format of the response; wins over the header `Accept`. Without both: JSON. */
      readonly format?: 'json' | 'csv' | 'ndjson' | 'parquet';
      /** Answers from the snapshot that was current at the end of this day, in UTC, instead of the newest. Where the store keeps no snapshot of that time, or no earlier snapshots at all, that is a 404. */
      readonly as_of?: string;
    };
    readonly output: {
      readonly data: readonly ForecastHistory[];
    };
  };
  /** The past forecasts for one market, with realized values */
  readonly '/markets/{cbsa}/forecast-track': {
    readonly input: {
      /** Core-based statistical area code of the market: exactly 5 digits. */
      readonly cbsa: string;
      /** Earliest period, inclusive. */
      readonly since?: string;
      /** Latest period, inclusive. */
      readonly until?: string;
      /** The format of the response; wins over the header `Accept`. Without both: JSON. */
      readonly format?: 'json' | 'csv' | 'ndjson' | 'parquet';
      /** Answers from the snapshot that was current at the end of this day, in UTC, instead of the newest. Where the store keeps no snapshot of that time, or no earlier snapshots at all, that is a 404. */
      readonly as_of?: string;
    };
    readonly output: {
      readonly data: readonly ForecastTrack[];
    };
  };
  /** The past forecasts for all markets */
  readonly '/forecast-history': {
    readonly input: {
      /** Earliest period, inclusive. */
      readonly since?: string;
      /** Latest period, inclusive. */
      readonly until?: string;
      /** The format of the response; wins over the header `Accept`. Without both: JSON. */
      readonly format?: 'json' | 'csv' | 'ndjson' | 'parquet';
      /** Answers from the snapshot that was current at the end of this day, in UTC, instead of the newest. Where the store keeps no snapshot of that time, or no earlier snapshots at all, that is a 404. */
      readonly as_of?: string;
    };
    readonly output: {
      readonly data: readonly AreaForecastHistory[];
    };
  };
  /** The past forecasts for all markets, with realized values */
  readonly '/forecast-track': {
    readonly input: {
      /** Earliest period, inclusive. */
      readonly since?: string;
      /** Latest period, inclusive. */
      readonly until?: string;
      /** The format of the response; wins over the header `Accept`. Without both: JSON. */
      readonly format?: 'json' | 'csv' | 'ndjson' | 'parquet';
      /** Answers from the snapshot that was current at the end of this day, in UTC, instead of the newest. Where the store keeps no snapshot of that time, or no earlier snapshots at all, that is a 404. */
      readonly as_of?: string;
    };
    readonly output: {
      readonly data: readonly AreaForecastTrack[];
    };
  };
  /** Every completed model run */
  readonly '/forecast-runs': {
    readonly input: {
      /** The format of the response; wins over the header `Accept`. Without both: JSON. */
      readonly format?: 'json' | 'csv' | 'ndjson';
      /** Answers from the snapshot that was current at the end of this day, in UTC, instead of the newest. Where the store keeps no snapshot of that time, or no earlier snapshots at all, that is a 404. */
      readonly as_of?: string;
    };
    readonly output: {
      readonly data: readonly ForecastRun[];
    };
  };
  /** The newest rolling-realized backtest of the baseline forecast */
  readonly '/forecast-backtest': {
    readonly input: {
      /** Answers from the snapshot that was current at the end of this day, in UTC, instead of the newest. Where the store keeps no snapshot of that time, or no earlier snapshots at all, that is a 404. */
      readonly as_of?: string;
    };
    readonly output: {
      readonly data: Backtest | null;
    };
  };
  /** How well past forecasts came true, by year, quarter, grade, signal, state or size of forecast */
  readonly '/forecast-backtest/breakdown': {
    readonly input: {
      /** What to group by. */
      readonly by: 'year' | 'quarter' | 'grade' | 'signal' | 'state' | 'size';
      /** Earliest period, inclusive. */
      readonly since?: string;
      /** Latest period, inclusive. */
      readonly until?: string;
      /** The format of the response; wins over the header `Accept`. Without both: JSON. */
      readonly format?: 'json' | 'csv' | 'ndjson';
      /** Answers from the snapshot that was current at the end of this day, in UTC, instead of the newest. Where the store keeps no snapshot of that time, or no earlier snapshots at all, that is a 404. */
      readonly as_of?: string;
    };
    readonly output: {
      readonly data: readonly BacktestGroup[];
    };
  };
  /** Observations of one series or several */
  readonly '/observations': {
    readonly input: {
      /** Identifier of a macro series (see `/series`), or `metro_hpi` for the index of the metros. Several are separated by commas; each row then says its `series_id`. */
      readonly series_id: string;
      /** Earliest period, inclusive. */
      readonly since?: string;
      /** Latest period, inclusive. */
      readonly until?: string;
      /** Narrows `metro_hpi` to one market, or to several separated by commas: 5 digits each. */
      readonly cbsa?: string;
      /** `level`: as published. `change`: less the period before, or the trading day before. `log`: natural logarithm. `yoy`: percent change from the same period a year before. `real`: in prices of 1982-84, which is the level / CPIAUCSL * 100, by the mean of the months of a quarter or year that are published; rows then say their `deflator`. What cannot be computed is left out; computed values have 8 decimals. */
      readonly units?: 'level' | 'change' | 'log' | 'yoy' | 'real';
      /** The format of the response; wins over the header `Accept`. Without both: JSON. */
      readonly format?: 'json' | 'csv' | 'ndjson' | 'parquet';
      /** Answers from the snapshot that was current at the end of this day, in UTC, instead of the newest. Where the store keeps no snapshot of that time, or no earlier snapshots at all, that is a 404. */
      readonly as_of?: string;
    };
    readonly output: {
      readonly data: readonly MacroObservation[];
    };
  };
  /** The catalogue of every published series */
  readonly '/series': {
    readonly input: {
      /** The format of the response; wins over the header `Accept`. Without both: JSON. */
      readonly format?: 'json' | 'csv' | 'ndjson';
      /** Answers from the snapshot that was current at the end of this day, in UTC, instead of the newest. Where the store keeps no snapshot of that time, or no earlier snapshots at all, that is a 404. */
      readonly as_of?: string;
    };
    readonly output: {
      readonly data: readonly Series[];
    };
  };
  /** Signal and risk grade of every market in the newest completed run */
  readonly '/signals': {
    readonly input: {
      /** Postal codes of states. A market can lie in several. Several are separated by commas; a row matches any of them. */
      readonly state?: string;
      /** Signals: expand, hold, contract. Several are separated by commas; a row matches any of them. */
      readonly signal?: string;
      /** Risk grades: A, B, C, D, F. Several are separated by commas; a row matches any of them. */
      readonly risk_score?: string;
      /** What to sort by: cbsa, name, signal, risk_score, forecast_12m, lower_80, upper_80, run_id, run_at, model_version. Ascending; descending with a "-" before it. Nulls come last. */
      readonly sort?: string;
      /** Which keys each row has, separated by commas: cbsa, name, signal, risk_score, forecast_12m, lower_80, upper_80, run_id, run_at, model_version. Their sequence stays the same. */
      readonly fields?: string;
      /** The most rows of a page. The header `Link` then has the next page. Default: all rows. */
      readonly limit?: number;
      /** Where the page starts: copy it from the `next` link of the previous page, and keep the other parameters. */
      readonly after?: string;
      /** The format of the response; wins over the header `Accept`. Without both: JSON. */
      readonly format?: 'json' | 'csv' | 'ndjson';
      /** Answers from the snapshot that was current at the end of this day, in UTC, instead of the newest. Where the store keeps no snapshot of that time, or no earlier snapshots at all, that is a 404. */
      readonly as_of?: string;
    };
    readonly output: {
      readonly data: readonly MarketSignal[];
    };
  };
  /** The markets whose 12-month forecast changed most between the last two runs */
  readonly '/movers': {
    readonly input: {
      /** Postal codes of states. A market can lie in several. Several are separated by commas; a row matches any of them. */
      readonly state?: string;
      /** Signals: expand, hold, contract. Several are separated by commas; a row matches any of them. */
      readonly signal?: string;
      /** What to sort by: cbsa, name, forecast_12m, prior_forecast_12m, delta_pp, signal, prior_signal, run_at, prior_run_at. Ascending; descending with a "-" before it. Nulls come last. */
      readonly sort?: string;
      /** Which keys each row has, separated by commas: cbsa, name, forecast_12m, prior_forecast_12m, delta_pp, signal, prior_signal, run_at, prior_run_at. Their sequence stays the same. */
      readonly fields?: string;
      /** The most rows. */
      readonly limit?: number;
      /** Where the page starts: copy it from the `next` link of the previous page, and keep the other parameters. */
      readonly after?: string;
      /** The format of the response; wins over the header `Accept`. Without both: JSON. */
      readonly format?: 'json' | 'csv' | 'ndjson';
      /** Answers from the snapshot that was current at the end of this day, in UTC, instead of the newest. Where the store keeps no snapshot of that time, or no earlier snapshots at all, that is a 404. */
      readonly as_of?: string;
    };
    readonly output: {
      readonly data: readonly Mover[];
    };
  };
  /** The published versions, with their changes */
  readonly '/vintages': {
    readonly input: Readonly<Record<string, never>>;
    readonly output: {
      readonly data: readonly Vintage[];
    };
  };
  /** Health of the platform, its components and its sources */
  readonly '/status': {
    readonly input: Readonly<Record<string, never>>;
    readonly output: Status;
  };
  /** Whether this replica may get requests */
  readonly '/ready': {
    readonly input: Readonly<Record<string, never>>;
    readonly output: Ready;
  };
  /** Whether this replica and its storage can respond */
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
