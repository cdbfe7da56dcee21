import { expect } from 'chai';
import { pageModules } from '../../../support/page-modules.js';

const {
  marketCalls,
  compareCalls,
  overdue,
  limitsOf,
  recordOf,
  reasonsOf,
  signalsText,
  mainDriver,
  commonCause,
  ...scores
} = await pageModules(
  'plugins/metro/explorer/browser/backtest/scores',
  'plugins/metro/explorer/browser/data-calls',
  'plugins/metro/explorer/browser/freshness',
  'plugins/metro/explorer/browser/grades',
  'plugins/metro/explorer/browser/market/reasons',
  'plugins/metro/explorer/browser/inputs',
);

describe('the explorer’s API calls', () => {
  const choices = { q: '', state: 'OH', signal: 'expand', grade: 'B', sort: '-forecast' };

  it('have the filters and the sorting of the list', () => {
    expect(marketCalls(choices)).to.deep.equal({
      targets: ['/markets?state=OH&signal=expand&risk_score=B&sort=-forecast_12m'],
      remark: '',
    });
  });

  it('have a note about searching, sorting by a change, and filtering an earlier run', () => {
    const { targets, remark } = marketCalls({ ...choices, q: 'akron', sort: 'change' });
    expect(targets).to.deep.equal(['/markets?state=OH&signal=expand&risk_score=B']);
    expect(remark).to.contain('“akron”').and.contain('sorting by change');
    const past = marketCalls(choices, '2024-10-01');
    expect(past.targets).to.deep.equal(['/forecast-track?since=2024-10-01&until=2024-10-01']);
    expect(past.remark).to.contain('filters');
  });

  const compared = {
    m: ['12060', '26420'],
    s: ['GDP', 'UNRATE'],
    real: false,
    from: '2008',
    money: ['GDP'],
    rates: ['UNRATE'],
  };

  it('request the units of a comparison', () => {
    expect(compareCalls({ ...compared, show: 'change' }).targets).to.deep.equal([
      '/observations?series_id=metro_hpi&cbsa=12060,26420&units=yoy&since=2008-01-01',
      '/observations?series_id=GDP&units=yoy&since=2008-01-01',
      '/observations?series_id=UNRATE&since=2007-01-01',
    ]);
    expect(compareCalls({ ...compared, show: 'rebased', real: true }).targets).to.deep.equal([
      '/observations?series_id=metro_hpi&cbsa=12060,26420&units=real&since=2008-01-01',
      '/observations?series_id=GDP&units=real&since=2008-01-01',
      '/observations?series_id=UNRATE&since=2008-01-01',
    ]);
  });

  it('request one more year if the page computes yearly changes, and the nation if it is compared', () => {
    const { targets, remark } = compareCalls({
      ...compared,
      s: ['UNRATE'],
      show: 'nation',
      real: true,
      nation: 'USSTHPI',
    });
    expect(targets).to.deep.equal([
      '/observations?series_id=metro_hpi&cbsa=12060,26420&since=2007-01-01',
      '/observations?series_id=USSTHPI&since=2007-01-01',
    ]);
    expect(remark).to.contain('difference');
  });
});

describe('overdue(sources, generatedAt, ids)', () => {
  const day = 86_400;
  const index = {
    id: 'metro_hpi',
    cadence: 'quarterly',
    state: 'stale',
    latest_period: '2025-10-01',
    age_seconds: 325 * day,
    late_after_seconds: 155 * day,
  };
  const now = '2026-11-22T00:00:00Z';

  it('names the newest quarter, and the month of the missing update', () => {
    expect(overdue([index], now, ['metro_hpi'])).to.equal('Data up to 2025 Q4; an update was due in June 2026.');
  });

  it('is empty for data on schedule, for data without an age, and for series of other views', () => {
    expect(overdue([{ ...index, state: 'fresh' }], now, ['metro_hpi'])).to.equal('');
    expect(overdue([{ ...index, latest_period: null, age_seconds: null }], now, ['metro_hpi'])).to.equal('');
    expect(overdue([index], now, ['UNRATE'])).to.equal('');
  });
});

describe('the explorer’s texts on grades', () => {
  it('have the probabilities of each grade, and the outcomes of reconstructed forecasts', () => {
    const rules = { grades: [0.1, 0.2, 0.35, 0.5] };
    expect([...'ABCDF'].map((grade) => limitsOf(rules, grade))).to.deep.equal([
      ...['below 10%', 'from 10% to below 20%', 'from 20% to below 35%', 'from 35% to below 50%', '50% or more'],
    ]);
    expect(limitsOf(rules, null)).to.equal('');
    const forecasts = 'reconstructed forecasts';
    const records = [{ group: 'B', n: 2936, decline_share: 0.0358, forecasts, recent: undefined }];
    expect(recordOf(records, 'B')).to.equal(
      'Of 2,936 reconstructed forecasts with B, 3.6% were followed by a decline.',
    );
    const recent = { n: 121, decline_share: 0.107 };
    expect(recordOf([{ group: 'contract', n: 4091, decline_share: 0.8465, forecasts, recent }], 'contract')).to.equal(
      'Of 4,091 reconstructed forecasts with contract, 84.7% were followed by a decline; of 121 from 2014 on, 10.7%.',
    );
    expect(recordOf([{ group: 'A', n: 121, decline_share: 0.107, forecasts, recent }], 'A')).to.equal(
      'Of 121 reconstructed forecasts with A, all from 2014 on, 10.7% were followed by a decline.',
    );
    expect(recordOf(records, 'F')).to.equal('');
  });
});

describe('the explorer’s reasons for a forecast', () => {
  const rules = { expand_point: 4, expand_lower: 0, contract_point: -1, margin: 1, grades: [0.1, 0.2, 0.35, 0.5] };
  const forecast = { point: 4.5, lower_80: 0.5, risk_score: 'A', decline_probability: 0.05 };
  const records = [{ group: 'contract', n: 4091, decline_share: 0.8465, recent: { n: 121, decline_share: 0.107 } }];

  it('name the thresholds, or the margin that keeps the signal of the previous run', () => {
    expect(reasonsOf({ ...forecast, signal: 'expand' }, rules, [])[0]).to.match(
      /^The signal is expand because the forecast of \+4\.50% is at least 4\.0%/,
    );
    expect(reasonsOf({ ...forecast, signal: 'hold' }, rules, [])[0]).to.match(
      /^The signal stays hold because the forecast of \+4\.50% is within the margin of 4\.0% and the lower bound of \+0\.50% is within the margin of 0\.0%\. /,
    );
    expect(reasonsOf({ ...forecast, point: 8.07, signal: 'hold' }, rules, [])[0]).to.match(
      /^The signal stays hold because the lower bound of \+0\.50% is within the margin of 0\.0%\. /,
    );
    expect(reasonsOf({ ...forecast, point: -0.4, lower_80: -5, signal: 'contract' }, rules, [])[0]).to.match(
      /^The signal stays contract because the forecast of −0\.40% is within the margin of −1\.0%\. /,
    );
    expect(reasonsOf({ ...forecast, point: -1.4, lower_80: -5, signal: 'hold' }, rules, [])[0]).to.match(
      /^The signal stays hold because the forecast of −1\.40% is within the margin of −1\.0%\. /,
    );
    expect(reasonsOf({ ...forecast, point: 8.07, lower_80: -2, signal: 'hold' }, rules, [])[0]).to.match(
      /^The signal is hold because the forecast of \+8\.07% is high enough for expand, but its lower bound is −2\.00%/,
    );
  });

  it('are summarized for lists', () => {
    expect(signalsText(rules)).to.equal(
      'Signals: expand for a forecast of at least 4.0% with a lower bound above 0.0%, contract for one below −1.0%, otherwise hold. ' +
        'A market keeps its signal within 1.0 percentage points of a threshold. ',
    );
  });

  it('state the record of the signal', () => {
    const contract = { ...forecast, point: -3, lower_80: -7, signal: 'contract' };
    expect(reasonsOf(contract, rules, records)[0]).to.include('of 121 from 2014 on, 10.7%.');
  });

  it('name the input that changed a forecast most', () => {
    const mover = { driver: 'new_home_sales', driver_pp: 1.5 };
    expect(mainDriver(mover)).to.equal('+1.50 pp from new home sales');
    expect(mainDriver({ ...mover, driver: null })).to.equal('–');
  });
});

describe('the explorer’s texts on groups of forecasts', () => {
  const grades = (...rows: readonly (readonly [n: number, predicted: number, declined: number])[]) =>
    rows.map(([n, predicted_decline_share, decline_share]) => ({ n, predicted_decline_share, decline_share }));

  it('state that the errors of both periods cancel out, only if they do', () => {
    const low = grades([1576, 0.047, 0.107], [5284, 0.756, 0.821]);
    const high = grades([12860, 0.031, 0.027], [260, 0.58, 0.142]);
    expect(scores.periodsText(low, high)).to.include('too low up to 2013 and have been too high since');
    expect(scores.periodsText(low, low)).to.equal('');
    expect(scores.periodsText(high, high)).to.equal('');
  });

  it('count false alarms in addition to the declines that were forecast', () => {
    const years = [
      { declines: 1000, declines_called: 600, decline_calls: 700 },
      { declines: 8, declines_called: 0, decline_calls: 1050 },
    ];
    expect(scores.declinesCalled(years)).to.deep.equal({ called: '600 of 1,008', falseAlarms: '1,150' });
  });

  it('use the benchmark with the smallest error of the group', () => {
    const row = { benchmark_mae_pp: 4.2, ar1_nation_mae_pp: 3.8, shrunk_mean_mae_pp: 3.7 };
    expect(scores.bestError(row)).to.equal(3.7);
  });
});

describe('the common cause of the movers', () => {
  const run = (inputs: Readonly<Record<string, number>>) => ({
    inputs: Object.entries(inputs).map(([name, mean_contribution_pp]) => ({ name, mean_contribution_pp })),
  });
  const prior = run({ growth_4q: 1, new_home_sales: 2 });

  it('is the input that changed the average forecast most', () => {
    expect(commonCause(run({ new_home_sales: 4, growth_4q: 0.5 }), prior)).to.deep.equal({
      change: 1.5,
      input: 'new home sales',
      part: 2,
    });
  });

  for (const [name, newest] of [
    ['has one input less', { growth_4q: 1 }],
    ['has one input more', { growth_4q: 1, new_home_sales: 2, intercept: 1 }],
    ['has another input', { growth_4q: 1, intercept: 1 }],
    ['lists no inputs', {}],
  ] as const) {
    it(`is unknown if the newest run ${name}`, () => expect(commonCause(run(newest), prior)).to.equal(undefined));
  }
});
