export const unscored = {
  signal: null,
  risk_score: null,
  forecast_12m: null,
  lower_80: null,
  upper_80: null,
  decline_probability: null,
  target_period: null,
  run_id: null,
  basis: null,
};
