import { expect } from 'chai';
import fc from 'fast-check';
import type { Forecast, ForecastRun } from '../../../../plugins/metro/collections.js';
import {
  backtestOf,
  intervalScore,
  type ScoredForecast,
  scoresOf,
} from '../../../../plugins/metro/forecast/backtest.js';
import { breakdownOf } from '../../../../plugins/metro/forecast/breakdown.js';

const run = (id: number, run_at: string, status: ForecastRun['status'] = 'completed'): ForecastRun => ({
  id,
  status,
  model_version: 'm-1',
  run_at,
  horizon_months: 12,
  features: null,
  notes: null,
});

const forecast = (run_id: number, cbsa: string, given: Partial<Forecast>): Forecast => ({
  run_id,
  cbsa,
  run_at: '2020-03-01T00:00:00Z',
  model_version: 'm-1',
  horizon_months: 12,
  target_period: '2020-10-01',
  point: 2,
  lower_80: 0,
  upper_80: 4,
  signal: null,
  risk_score: null,
  realized: null,
  realized_as_of: null,
  decline_probability: 0.5,
  benchmark: 1,
  ar1_nation: 2,
  shrunk_mean: 3,
  ...given,
});

const runs = [run(1, '2020-03-01T00:00:00Z'), run(2, '2020-06-01T00:00:00Z'), run(3, '2021-03-01T00:00:00Z')];
const forecasts = [
  forecast(1, '10000', { realized: 3, target_period: '2020-10-01' }),
  forecast(1, '10001', { realized: -1, target_period: '2020-10-01' }),
  forecast(2, '10000', { realized: 6, target_period: '2021-01-01' }),
  forecast(3, '10000', { realized: null, target_period: '2021-10-01' }),
];
const input = { runs, forecasts, vintage: '2021-06-30' };

describe('intervalScore(lower, upper, realized)', () => {
  it('is the width of the interval, plus 10 times the distance of a miss', () => {
    expect(intervalScore(0, 4, 4)).to.equal(4);
    expect(intervalScore(0, 4, 6)).to.equal(24);
    expect(intervalScore(0, 4, -1)).to.equal(14);
  });
});

describe('backtestOf(input)', () => {
  it('equals a row computed by hand', () => {
    expect(backtestOf(input)).to.deep.equal({
      as_of: '2021-03-01T00:00:00Z',
      model_version: 'm-1',
      horizon_months: 12,
      window_start: '2020-10-01',
      window_end: '2021-01-01',
      n: 3,
      n_metros: 2,
      n_runs: 2,
      // The errors are 1, -3 and 4.
      mae_pp: 2.6667,
      rmse_pp: 2.9439,
      bias_pp: 0.6667,
      coverage_80: 0.3333,
      interval_score_80: 14,
      direction_hit_rate: 0.6667,
      // The errors are 2, 2 and 5.
      benchmark: { name: 'persistence', mae_pp: 3 },
      skill_mae: 0.1111,
      realized_vintage: '2021-06-30',
      base_rate_up: 0.6667,
      declines: 1,
      n_published: 0,
      n_reconstructed: 3,
      declines_called: 0,
      brier_score: 0.25,
      // The errors are 0, -4 and 3 for the first benchmark, and 1, -3 and 4 for the second benchmark.
      benchmarks: [
        { name: 'shrunk_mean', mae_pp: 2.3333, direction_hit_rate: 0.6667, skill_mae: -0.1429 },
        { name: 'ar1_nation', mae_pp: 2.6667, direction_hit_rate: 0.6667, skill_mae: 0 },
        { name: 'persistence', mae_pp: 3, direction_hit_rate: 0.6667, skill_mae: 0.1111 },
      ],
    });
  });

  it('counts the forecasts of published and of reconstructed runs, which the breakdown scores separately', () => {
    const mixed = runs.map((one) => (one.id === 2 ? { ...one, basis: 'published' as const } : one));
    expect(backtestOf({ ...input, runs: mixed })).to.include({ n: 3, n_published: 1, n_reconstructed: 2 });
    const groups = breakdownOf(mixed, forecasts, new Map(), 'basis');
    expect(groups.map(({ group, n, mae_pp }) => [group, n, mae_pp])).to.deep.equal([
      ['published', 1, 4],
      ['reconstructed', 2, 2],
    ]);
  });

  it('counts a market in each of its states, as the filter `state` does', () => {
    const names = new Map([
      ['10000', 'New York-Jersey City, NY-NJ (MSAD)'],
      ['10001', 'Trenton-Princeton, NJ'],
    ]);
    const groups = breakdownOf(runs, forecasts, names, 'state');
    expect(groups.map(({ group, n }) => [group, n])).to.deep.equal([
      ['NJ', 3],
      ['NY', 2],
    ]);
  });

  it('is undefined if the completed runs span less than 12 months', () => {
    const shorter = [runs[0] as ForecastRun, runs[1] as ForecastRun, run(3, '2021-02-28T23:59:59Z')];
    expect(backtestOf({ ...input, runs: shorter })).to.equal(undefined);
    const failed = [runs[0] as ForecastRun, runs[1] as ForecastRun, run(3, '2021-03-01T00:00:00Z', 'failed')];
    expect(backtestOf({ ...input, runs: failed })).to.equal(undefined);
    expect(backtestOf({ ...input, runs: [], forecasts: [] })).to.equal(undefined);
  });

  it('is undefined if no target has been published', () => {
    expect(backtestOf({ ...input, forecasts: forecasts.slice(3) })).to.equal(undefined);
  });

  it('scores only forecasts of the newest model in completed runs with bounds and all benchmarks', () => {
    const others = [
      forecast(2, '10002', { realized: 50, lower_80: null, upper_80: null }),
      forecast(9, '10003', { realized: 50 }),
      forecast(2, '10004', { realized: 50, benchmark: null }),
      forecast(2, '10006', { realized: 50, shrunk_mean: null }),
      forecast(4, '10005', { realized: 50 }),
    ];
    const older = { ...run(4, '2020-09-01T00:00:00Z'), model_version: 'm-0' };
    const failed = [...runs, run(9, '2020-06-02T00:00:00Z', 'failed'), older];
    expect(backtestOf({ ...input, runs: failed, forecasts: [...forecasts, ...others] })).to.deep.equal(
      backtestOf(input),
    );
  });
});

describe('scoresOf(forecasts)', () => {
  const percent = fc.double({ min: -50, max: 50, noNaN: true });
  const width = fc.double({ min: 0, max: 40, noNaN: true });
  const scored: fc.Arbitrary<ScoredForecast> = fc
    .tuple(percent, width, width, percent, percent)
    .map(([point, below, above, realized, naive]) => ({
      point,
      lower_80: point - below,
      upper_80: point + above,
      realized,
      decline_probability: 0.3,
      benchmark: naive,
      ar1_nation: naive,
      shrunk_mean: naive,
    }));
  const many = fc.array(scored, { minLength: 1, maxLength: 30 });

  it('has no scores without forecasts', () => {
    expect(scoresOf([])).to.equal(undefined);
  });

  it('has rates from 0 to 1, MAE between |bias| and RMSE, and an interval score of at least the mean width', () => {
    fc.assert(
      fc.property(many, (forecasts) => {
        const scores = scoresOf(forecasts) as NonNullable<ReturnType<typeof scoresOf>>;
        const meanWidth = forecasts.reduce((sum, row) => sum + row.upper_80 - row.lower_80, 0) / forecasts.length;
        expect(scores.n).to.equal(forecasts.length);
        expect(scores.coverage_80).to.be.within(0, 1);
        expect(scores.direction_hit_rate).to.be.within(0, 1);
        expect(scores.mae_pp).to.be.at.least(Math.abs(scores.bias_pp) - 1e-9);
        expect(scores.rmse_pp).to.be.at.least(scores.mae_pp - 1e-9);
        expect(scores.interval_score_80).to.be.at.least(meanWidth - 1e-9);
        expect(scores.benchmarks.benchmark.skill_mae).to.be.at.most(1);
        expect(scores.brier_score).to.be.within(0, 1);
      }),
    );
  });

  it('has full coverage and the width as interval score if the bounds are wide enough', () => {
    fc.assert(
      fc.property(many, (forecasts) => {
        const wide = forecasts.map((row) => ({ ...row, lower_80: -200, upper_80: 200 }));
        const scores = scoresOf(wide) as NonNullable<ReturnType<typeof scoresOf>>;
        expect(scores.coverage_80).to.equal(1);
        expect(scores.interval_score_80).to.equal(400);
      }),
    );
  });

  it('has no skill relative to itself', () => {
    fc.assert(
      fc.property(many, (forecasts) => {
        const same = forecasts.map((row) => ({ ...row, benchmark: row.point }));
        expect(scoresOf(same)?.benchmarks.benchmark.skill_mae).to.equal(0);
      }),
    );
  });

  it('scores probabilities by Brier score and by log loss, with a probability of 0 counted as 0.001', () => {
    const row = { point: 1, lower_80: 0, upper_80: 2, benchmark: 1, ar1_nation: 1, shrunk_mean: 1 };
    const scores = scoresOf([
      { ...row, realized: -1, decline_probability: 0 },
      { ...row, realized: 1, decline_probability: 0.2 },
    ]);
    expect(scores?.brier_score).to.be.closeTo((1 + 0.04) / 2, 1e-12);
    expect(scores?.log_loss).to.be.closeTo(-(Math.log(0.001) + Math.log(0.8)) / 2, 1e-12);
  });
});
