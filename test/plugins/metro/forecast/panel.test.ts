import { expect } from 'chai';
import { OperatorError } from '../../../../core/errors.js';
import { createPanel, percentChange } from '../../../../plugins/metro/forecast/panel.js';
import { quarterIndex } from '../../../../plugins/metro/periods.js';

const markets = [
  { cbsa: '10000', name: 'Ames, IA' },
  { cbsa: '10001', name: 'Omaha, NE-IA' },
];

describe('createPanel(markets, rows)', () => {
  it('puts each value into its quarter, and NaN everywhere else', () => {
    const panel = createPanel(markets, [
      { cbsa: '10001', period_start: '2001-04-01', value: 105 },
      { cbsa: '10000', period_start: '2000-10-01', value: 100 },
    ]);
    expect(panel.firstQuarter).to.equal(quarterIndex(2000, 4));
    expect(panel.quarters.map((quarter) => [...quarter])).to.deep.equal([
      [100, Number.NaN],
      [Number.NaN, Number.NaN],
      [Number.NaN, 105],
    ]);
  });

  it('has no quarters without rows', () => {
    expect(createPanel(markets, []).quarters).to.deep.equal([]);
  });

  it('reports every invalid row together', () => {
    const rows = [
      { cbsa: '99999', period_start: '2000-01-01', value: 100 },
      { cbsa: '10000', period_start: '2000-02-01', value: 100 },
      { cbsa: '10000', period_start: '2000-04-01', value: 0 },
    ];
    expect(() => createPanel(markets, rows))
      .to.throw(OperatorError)
      .with.property('errors')
      .deep.equals([
        '99999 2000-01-01: no market has this code',
        '10000 2000-02-01: not the first day of a quarter',
        '10000 2000-04-01: the index level must be above 0, but is 0',
      ]);
  });
});

describe('the markets of a panel', () => {
  it('have the first state of the title, and a centre unless they are the nation', () => {
    const names = ['Atlanta-Sandy Springs, GA-AL', 'Anaheim-Santa Ana-Irvine, CA  (MSAD)', 'Somewhere'];
    const all = names.map((name, i) => ({ cbsa: `9000${i}`, name }));
    const panel = createPanel([...all, { cbsa: '00000', name: 'United States' }, { cbsa: '00048', name: 'Texas' }], []);
    expect(panel.markets.map(({ state }) => state)).to.deep.equal(['GA', 'CA', '', '', 'TX']);
    expect(panel.markets.map(({ centre }) => Math.round(centre?.latitude ?? 0))).to.deep.equal([0, 0, 0, 0, 31]);
  });
});

describe('percentChange(from, to)', () => {
  it('is the change in percent, and NaN if either value is missing', () => {
    expect(percentChange(200, 210)).to.be.closeTo(5, 1e-12);
    expect(percentChange(undefined, 210)).to.be.NaN;
    expect(percentChange(200, Number.NaN)).to.be.NaN;
  });
});
