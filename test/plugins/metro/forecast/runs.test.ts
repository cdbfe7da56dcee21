import { expect } from 'chai';
import { compileSchema } from '../../../../core/validation/compile-schema.js';
import {
  backtests,
  type Forecast,
  forecastRuns,
  forecasts,
  type Market,
} from '../../../../plugins/metro/collections.js';
import { defaultRules } from '../../../../plugins/metro/forecast/default-rules.js';
import { defaultForecastOptions } from '../../../../plugins/metro/forecast/model.js';
import { models } from '../../../../plugins/metro/forecast/models/index.js';
import { metroMomentum } from '../../../../plugins/metro/forecast/models/metro-momentum.js';
import { pooledMomentum } from '../../../../plugins/metro/forecast/models/pooled-momentum.js';
import { declineProbability, riskGradeOf, signalOf } from '../../../../plugins/metro/forecast/rules.js';
import { makeRuns, type Runs, type RunsInput, withNewestRun } from '../../../../plugins/metro/forecast/runs.js';
import { realizedChange } from '../../../../plugins/metro/forecast/walk.js';
import { parseQuarter, quarterIndex, quarterName } from '../../../../plugins/metro/periods.js';
import { rounded } from '../../../../plugins/metro/rounding.js';
import { unscored } from '../unscored.js';
import { cut, madeUpMetroPanel, madeUpPanel } from './panels.js';

const panel = madeUpPanel();
const input: RunsInput = {
  panel,
  model: pooledMomentum,
  options: defaultForecastOptions,
  rules: defaultRules,
  span: { last: 20 },
  vintage: '2015-03-31',
  created: new Date('2015-05-25T14:00:00Z'),
  horizons: [12],
};
const made = makeRuns(input);
const codes = ['00000', '00016', '00019'];
const nationAndStates = {
  ...panel,
  markets: panel.markets.slice(0, 3).map((market, i) => ({ ...market, cbsa: codes[i] as string })),
  quarters: panel.quarters.map((levels) => levels.slice(0, 3)),
};
const rowsOf = (cbsa: string) => made.forecasts.filter((row) => row.cbsa === cbsa);

const withoutOutcomes = ({ realized: _, realized_as_of: __, ...row }: Forecast) => row;

describe('makeRuns(input)', () => {
  it('adds the nation and the states to each run, and changes neither the metros nor the backtest', () => {
    const both = makeRuns({ ...input, nationAndStates });
    const withoutNotes = ({ runs }: Runs) => runs.map(({ notes: _, ...run }) => run);
    expect(withoutNotes(both)).to.deep.equal(withoutNotes(made));
    expect(both.runs.at(-1)?.notes).to.match(/ 9 of 9 markets forecast\.$/);
    expect(both.backtests).to.deep.equal(made.backtests);
    expect(both.forecasts.filter(({ cbsa }) => !codes.includes(cbsa))).to.deep.equal(made.forecasts);
    const newest = both.forecasts.filter(({ run_id }) => run_id === 20144).map(({ cbsa }) => cbsa);
    expect(newest).to.deep.equal([...codes, ...panel.markets.map(({ cbsa }) => cbsa)]);
    const alone = makeRuns({ ...input, panel: nationAndStates });
    expect(both.forecasts.filter(({ cbsa }) => codes.includes(cbsa))).to.deep.equal(alone.forecasts);
  });

  describe('at other horizons', () => {
    const { horizons: _, ...open } = input;
    const all = makeRuns({ ...open, nationAndStates });
    const rowsAt = (horizon: number) => all.forecasts.filter(({ horizon_months }) => horizon_months === horizon);

    it('add only the newest run, and a backtest of all quarters of the span', () => {
      expect(all.runs.filter(({ horizon_months }) => horizon_months !== 12).map(({ id }) => id)).to.deep.equal([
        2014403, 2014406, 2014424,
      ]);
      expect(all.backtests.map(({ horizon_months, n_runs }) => [horizon_months, n_runs])).to.deep.equal([
        [3, 19],
        [6, 18],
        [12, 16],
        [24, 12],
      ]);
      const twelve = all.forecasts.filter(({ horizon_months, cbsa }) => horizon_months === 12 && !codes.includes(cbsa));
      expect(twelve).to.deep.equal(made.forecasts);
    });

    it('have neither signals nor grades, and the nation and the states only at 24 months', () => {
      const targets = [3, 6, 24].map((horizon) => new Set(rowsAt(horizon).map(({ target_period }) => target_period)));
      expect(targets.map((days) => [...days].join())).to.deep.equal(['2015-01-01', '2015-04-01', '2016-10-01']);
      expect([3, 6, 24].map((horizon) => rowsAt(horizon).length)).to.deep.equal([6, 6, 9]);
      for (const row of [3, 6, 24].flatMap(rowsAt)) {
        expect([row.signal, row.risk_score]).to.deep.equal([null, null]);
        expect(row.decline_probability).to.be.within(0, 1);
      }
    });

    it('score each forecast against the change over its horizon', () => {
      const kept = makeRuns({ ...open, panel: cut(panel, 99), horizons: [12, 3], span: { last: 1 } });
      const quarter = kept.forecasts.find(({ horizon_months }) => horizon_months === 3);
      const later = makeRuns({ ...open, horizons: [12, 3], kept, span: { last: 1 } }).forecasts.find(
        ({ run_id, cbsa }) => run_id === quarter?.run_id && cbsa === quarter.cbsa,
      );
      const market = panel.markets.findIndex(({ cbsa }) => cbsa === quarter?.cbsa);
      expect(quarter?.realized).to.equal(null);
      expect(later?.realized).to.equal(rounded(realizedChange(panel, panel.firstQuarter + 98, market, 3)));
    });

    it('keep the record of a horizon that has no forecasts in the span', () => {
      // At a horizon of 24 months, outcomes become known a year later than at 12 months, so the first forecasts are
      // also a year later.
      const metros = { ...open, panel: madeUpMetroPanel(), model: metroMomentum, horizons: [12, 24] as const };
      const kept = makeRuns({ ...metros, span: { last: 1 } });
      const [first = 0] = makeRuns({ ...metros, span: {} }).runs.map(({ id }) => id);
      const after = makeRuns({ ...metros, kept, span: { to: quarterIndex(Math.floor(first / 10), first % 10) } });
      expect(after.added).to.deep.equal([first]);
      expect(after.runs.map(({ id }) => id)).to.deep.equal([first, 20144, 2014424]);
    });

    it('give each horizon a record of published runs', () => {
      const before = makeRuns({
        ...open,
        panel: cut(panel, 99),
        created: new Date('2015-02-01T00:00:00Z'),
        span: { last: 1 },
      });
      const after = makeRuns({ ...open, kept: before, span: { last: 1 } });
      const ids = after.runs.filter(({ horizon_months }) => horizon_months === 3).map(({ id }) => id);
      expect(ids).to.deep.equal([2014303, 2014403]);
    });
  });

  it('adds later outcomes to kept forecasts of states', () => {
    const short = { ...input, panel: cut(panel, 96), nationAndStates: cut(nationAndStates, 96), span: { last: 1 } };
    const kept = makeRuns({ ...short, vintage: '2014-03-31' });
    const later = makeRuns({ ...input, nationAndStates, kept, span: { last: 1 } });
    const [before, after] = [kept, later].map(({ forecasts }) => forecasts.find(({ cbsa }) => cbsa === '00016'));
    expect(before?.realized).to.equal(null);
    expect(after).to.include({ run_id: before?.run_id, realized_as_of: '2015-03-31' });
  });

  it('makes one run per quarter, named after the quarter and dated two months after it', () => {
    expect(made.runs).to.have.length(20);
    expect(made.runs[0]).to.deep.include({ id: 20101, run_at: '2010-06-01T00:00:00Z', status: 'completed' });
    expect(made.runs.at(-1)).to.deep.equal({
      id: 20144,
      status: 'completed',
      model_version: 'pooled-momentum-1.0.0',
      run_at: '2015-03-01T00:00:00Z',
      horizon_months: 12,
      features: ['growth_4q', 'state_mean_growth_1q', 'national_mean_growth_1q'],
      notes: 'Uses the index up to 2014Q4, in its vintage of 2015-03-31. 6 of 6 markets forecast.',
      basis: 'published',
      vintage: '2015-03-31',
      data_through: '2014-10-01',
      computed_at: '2015-05-25T14:00:00Z',
      published_at: '2015-05-25T14:00:00Z',
      rules: { expand_point: 4, expand_lower: 0, contract_point: -1, margin: 1, grades: [0.1, 0.2, 0.35, 0.5] },
      signal_change_share: 0.1667,
    });
  });

  it('marks runs up to the newest published quarter as reconstructed, and explains this in their notes', () => {
    expect(made.runs.map(({ basis }) => basis)).to.deep.equal([...Array(19).fill('reconstructed'), 'published']);
    expect(made.runs[0]?.notes).to.equal(
      'Reconstructed, pseudo-out-of-sample: uses the index up to 2010Q1 only, but as the vintage of 2015-03-31 has it, ' +
        'with the revisions made since. 6 of 6 markets forecast.',
    );
  });

  it('marks the newest run as reconstructed if the next quarter was released before it was computed or published', () => {
    const basisAt = (created: string, computed: string) =>
      makeRuns({ ...input, created: new Date(created), computed: new Date(computed) }).runs.at(-1)?.basis;
    expect(basisAt('2015-05-25T23:59:59Z', '2015-05-25T23:59:59Z')).to.equal('published');
    expect(basisAt('2015-05-26T00:00:00Z', '2015-05-25T00:00:00Z')).to.equal('reconstructed');
    expect(basisAt('2015-02-24T14:00:00Z', '2026-11-26T00:00:00Z')).to.equal('reconstructed');
  });

  it('never dates a run after the publication that contains it', () => {
    const { runs, forecasts: rows } = makeRuns({ ...input, created: new Date('2015-02-24T14:00:00Z') });
    expect(runs.slice(-2).map(({ run_at }) => run_at)).to.deep.equal(['2014-12-01T00:00:00Z', '2015-02-24T14:00:00Z']);
    expect(rows.at(-1)?.run_at).to.equal('2015-02-24T14:00:00Z');
  });

  it('stores the probability of a decline that follows from the served bounds, and the points of the benchmarks', () => {
    for (const row of made.forecasts) {
      expect(row.decline_probability).to.equal(rounded(declineProbability(row) as number));
      expect(row.risk_score).to.equal(riskGradeOf(row.decline_probability as number, defaultRules));
      for (const point of [row.benchmark, row.ar1_nation, row.shrunk_mean]) expect(point).to.be.a('number');
    }
  });

  it('lets signals change only when the point has passed a threshold by the margin', () => {
    const signalsOf = (rules: typeof input.rules) => makeRuns({ ...input, rules }).forecasts;
    const changesIn = (rows: readonly Forecast[]) =>
      rows.filter((row, i) => {
        const before = rows.slice(0, i).findLast(({ cbsa }) => cbsa === row.cbsa);
        return before && before.signal !== row.signal;
      }).length;
    const wide = { ...defaultRules, margin: 3 };
    expect(changesIn(signalsOf(wide))).to.be.below(changesIn(signalsOf({ ...defaultRules, margin: 0 })));
    for (const row of made.forecasts) {
      const allowed = [undefined, 'expand', 'hold', 'contract'] as const;
      expect(allowed.map((previous) => signalOf(row, defaultRules, previous))).to.include(row.signal);
    }
  });

  it('continues the signals of the run that was served before the newest one', () => {
    const rules = { ...defaultRules, margin: 100 };
    const before = makeRuns({ ...input, rules, panel: cut(panel, 99), span: { last: 1 } });
    const served = before.forecasts.map((row) => ({ ...row, signal: 'contract' as const }));
    const kept = { runs: before.runs, forecasts: served };
    const newest = (runs: Runs) => runs.forecasts.filter(({ run_id }) => run_id === 20144).map(({ signal }) => signal);
    expect(newest(makeRuns({ ...input, rules, kept }))).to.deep.equal(Array(6).fill('contract'));
    expect(newest(makeRuns({ ...input, rules }))).to.include('hold');
  });

  it('keeps earlier runs unchanged, and adds later outcomes to them', () => {
    const before = makeRuns({ ...input, panel: cut(panel, 96), span: { last: 4 }, vintage: '2014-03-31' });
    const odd = before.forecasts.map((row) => ({ ...row, point: row.point + 1 }));
    const after = makeRuns({ ...input, span: { last: 6 }, kept: { runs: before.runs, forecasts: odd } });
    expect(after.runs.map(({ id }) => id)).to.deep.equal([20131, 20132, 20133, 20134, 20141, 20142, 20143, 20144]);
    expect(after.added).to.deep.equal([20141, 20142, 20143, 20144]);
    expect(after.runs.slice(0, 4)).to.deep.equal(before.runs);
    const kept = after.forecasts.filter(({ run_id }) => run_id <= 20134);
    expect(kept.map(withoutOutcomes)).to.deep.equal(odd.map(withoutOutcomes));
    expect(kept.every(({ realized_as_of }) => realized_as_of === '2015-03-31')).to.equal(true);
  });

  it('notes how recent the macro series were, and which model replaced the default model', () => {
    const { model: _, ...byDefault } = input;
    const [own] = makeRuns({ ...byDefault, panel: madeUpMetroPanel(), span: { last: 1 } }).runs;
    expect(own?.model_version).to.equal('metro-momentum-1.0.0');
    expect(own?.notes).to.include(' HSN1F up to 2014-09. 6 of 6 markets');
    expect(own?.coefficients?.map(({ name }) => name)).to.deep.equal(['intercept', ...(own?.features ?? [])]);
    expect(own?.inputs?.map(({ name }) => name)).to.include.members(['intercept', 'new_home_sales']);
    const [other] = makeRuns({ ...byDefault, panel, span: { last: 1 } }).runs;
    expect(other?.model_version).to.equal('pooled-momentum-1.0.0');
    expect(other?.notes).to.match(
      / metro-momentum needs the series HSN1F, which the dataset lacks, and the centres of the metros, .*: pooled-momentum was used instead\.$/,
    );
  });

  it('dates the target 12 months after the quarter, and uses the published value for it', () => {
    const [first] = rowsOf('10000') as [Forecast];
    expect(first.target_period).to.equal('2011-01-01');
    expect(first.realized).to.equal(rounded(realizedChange(panel, quarterIndex(2010, 1), 0)));
    expect(first.realized_as_of).to.equal('2015-03-31');
    const last = rowsOf('10000').at(-1) as Forecast;
    expect([last.target_period, last.realized, last.realized_as_of]).to.deep.equal(['2015-10-01', null, null]);
  });

  it('makes no forecast from a gap, and does not use interpolated values as outcomes', () => {
    // Market 10004 has no value for 2012Q3.
    const byRun = new Map(rowsOf('10004').map((row) => [row.run_id, row]));
    expect(byRun.has(20123)).to.equal(false);
    expect(byRun.get(20113)).to.include({ target_period: '2012-07-01', realized: null, realized_as_of: null });
    expect(byRun.get(20112)?.realized).to.be.a('number');
  });

  it('makes the same run from data that is cut at its quarter', () => {
    for (const quarters of [81, 91, 92, 99]) {
      const known = makeRuns({ ...input, panel: cut(panel, quarters), span: { last: 1 } });
      const [run] = known.runs;
      expect(known.forecasts.map(withoutOutcomes)).to.deep.equal(
        made.forecasts.filter(({ run_id }) => run_id === run?.id).map(withoutOutcomes),
      );
    }
  });

  it('makes the same runs for any range that contains them', () => {
    const some = makeRuns({ ...input, span: { from: quarterIndex(2011, 2), to: quarterIndex(2012, 1) } });
    expect(some.runs.map(({ id }) => id)).to.deep.equal([20112, 20113, 20114, 20121]);
    expect(some.forecasts).to.deep.equal(made.forecasts.filter(({ run_id }) => run_id >= 20112 && run_id <= 20121));
  });

  it('scores the realized forecasts of its runs', () => {
    const realized = made.forecasts.filter((row) => row.realized !== null);
    expect(made.backtests[0]).to.include({
      n: realized.length,
      n_metros: 6,
      n_runs: 16,
      window_start: '2011-01-01',
      window_end: '2014-10-01',
      as_of: '2015-03-01T00:00:00Z',
      realized_vintage: '2015-03-31',
    });
    const mae =
      realized.reduce((sum, row) => sum + Math.abs((row.realized as number) - row.point), 0) / realized.length;
    expect(made.backtests[0]?.mae_pp).to.be.closeTo(mae, 1e-4);
  });

  for (const model of models) {
    it(`makes valid rows of ${model.name}, in key order, with points inside their bounds`, () => {
      const {
        runs,
        forecasts: rows,
        backtests: [backtest],
      } = makeRuns({ ...input, panel: madeUpMetroPanel(), model });
      const validRun = compileSchema(forecastRuns.schema);
      const validRow = compileSchema(forecasts.schema);
      for (const run of runs) expect(validRun(run), JSON.stringify(validRun.errors)).to.equal(true);
      for (const row of rows) {
        expect(validRow(row), JSON.stringify(validRow.errors)).to.equal(true);
        expect(forecasts.check?.(row, { created: '2015-05-26T14:00:00Z' })).to.equal(undefined);
      }
      const valid = compileSchema(backtests.schema);
      expect(valid(backtest), JSON.stringify(valid.errors)).to.equal(true);
      const keys = rows.map(({ run_id, cbsa }) => `${run_id} ${cbsa}`);
      expect(keys).to.deep.equal([...new Set(keys)].sort());
    });
  }

  it('has null bounds and grades, and no expand signal, before errors are known', () => {
    const early = makeRuns({ ...input, span: { from: quarterIndex(2004, 1), to: quarterIndex(2004, 1) } });
    expect(early.forecasts).to.have.length(6);
    for (const row of early.forecasts) {
      expect([row.lower_80, row.upper_80, row.risk_score]).to.deep.equal([null, null, null]);
      expect(row.signal).to.be.oneOf(['hold', 'contract']);
    }
    expect(early.backtests[0]).to.equal(undefined);
  });

  it('reports the range of the index if no market can be forecast', () => {
    expect(() => makeRuns({ ...input, span: { from: quarterIndex(2020, 1), to: quarterIndex(2020, 4) } })).to.throw(
      'No market can be forecast in 2020Q1 to 2020Q4: the index covers 1990Q1 to 2014Q4, and a market needs 20 values',
    );
    expect(() => makeRuns({ ...input, panel: cut(panel, 0) })).to.throw('the dataset has no house price index');
  });
});

describe('withNewestRun(markets, runs)', () => {
  const market = (cbsa: string): Market => ({
    id: 1,
    cbsa,
    name: cbsa,
    signal: 'contract',
    risk_score: 'F',
    yoy_price: 1.5,
    forecast_12m: -9,
  });

  it('gives each market its row of the newest run, or null if it has none', () => {
    const newest = rowsOf('10003').at(-1) as Forecast;
    expect(withNewestRun([market('10003'), market('99999')], made)).to.deep.equal([
      {
        ...market('10003'),
        signal: newest.signal,
        risk_score: newest.risk_score,
        forecast_12m: newest.point,
        lower_80: newest.lower_80,
        upper_80: newest.upper_80,
        decline_probability: newest.decline_probability,
        target_period: '2015-10-01',
        run_id: 20144,
        basis: 'published',
      },
      { ...market('99999'), ...unscored },
    ]);
  });
});

describe('rounded(value)', () => {
  it('rounds to four decimals, without negative zero', () => {
    expect(rounded(1.234_56)).to.equal(1.2346);
    expect(Object.is(rounded(-0.000_01), 0)).to.equal(true);
  });
});

describe('parseQuarter(text)', () => {
  it('parses the output of quarterName, and nothing else', () => {
    expect(parseQuarter(quarterName(quarterIndex(2005, 4)))).to.equal(quarterIndex(2005, 4));
    for (const text of ['2005', '2005Q5', '05Q1', '2005-10-01', '']) expect(parseQuarter(text)).to.equal(undefined);
  });
});
