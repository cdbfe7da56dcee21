import { expect } from 'chai';
import type { FrontPageContext } from '../../../../core/contracts/plugin.js';
import { metroFrontPage } from '../../../../plugins/metro/explorer/front-page.js';
import { pageModules } from '../../../support/page-modules.js';

const { findingOf } = await pageModules('plugins/metro/explorer/browser/markets/texts');
const { comparisonFile, findingOf: comparisonFinding } = await pageModules(
  'plugins/metro/explorer/browser/compare/texts',
);

const boise = { name: 'Boise City, ID', forecast: 3.6, last: -0.2, grade: 'B', signal: 'hold' };
const austin = { name: 'Austin, TX', forecast: -1.2, last: -2, grade: 'F', signal: 'hold' };
const unfiltered = { q: '', state: '', signal: '', grade: '' };
const inIdaho = { ...unfiltered, state: 'ID' };
const shown = { run: { target: '2026-10-01' }, isNewest: true, until: '2025-10-01', chosen: unfiltered };

describe('the title of the markets', () => {
  for (const [name, rows, measure, expected] of [
    ['one metro', [boise], 'forecast', 'House prices are expected to rise in Boise City, ID by 2026 Q4'],
    ['one metro', [austin], 'forecast', 'House prices are expected to fall in Austin, TX by 2026 Q4'],
    ['one metro', [boise], 'grade', 'Boise City, ID has the risk grade B'],
    ['one metro', [boise], 'signal', 'Boise City, ID has the signal “hold”'],
    ['one metro', [boise], 'last', 'House prices fell in Boise City, ID in the year to 2025 Q4'],
    [
      'some of the metros',
      [boise, austin],
      'forecast',
      'House prices are expected to rise in 1 of 2 metros by 2026 Q4',
    ],
    ['two metros', [boise, boise], 'forecast', 'House prices are expected to rise in both metros by 2026 Q4'],
    ['all metros', [boise, boise, boise], 'forecast', 'House prices are expected to rise in all 3 metros by 2026 Q4'],
    [
      'the only metro with a forecast',
      [boise, { ...austin, forecast: null }],
      'forecast',
      'House prices are expected to rise in Boise City, ID by 2026 Q4',
    ],
    [
      'a metro whose forecast rounds to zero',
      [{ ...boise, forecast: -0.04 }],
      'forecast',
      'House prices are expected to stay the same in Boise City, ID by 2026 Q4',
    ],
    [
      'a metro without a change',
      [{ ...boise, last: 0 }],
      'last',
      'House prices did not change in Boise City, ID in the year to 2025 Q4',
    ],
    ['a metro without figures', [{ ...boise, forecast: null }], 'forecast', 'Boise City, ID has no forecast'],
    [
      'two metros without figures',
      [boise, austin].map((row) => ({ ...row, grade: null })),
      'grade',
      'The 2 metros have no risk grade',
    ],
    ['one of two metros', [boise, austin], 'grade', '1 of 2 metros has a high risk of falling house prices by 2026 Q4'],
    ['no metro', [boise, austin], 'signal', 'None of the 2 metros have the signal “expand”'],
    ['an empty list', [], 'forecast', 'No market matches'],
  ] as const) {
    it(`is about ${name}: ${expected}`, () => expect(findingOf(rows, { ...shown, measure })).to.equal(expected));
  }
});

describe('the title of a list without markets', () => {
  for (const [chosen, isNewest, expected] of [
    [{ state: 'OH', grade: 'A' }, true, 'No metro in Ohio has grade A'],
    [{ grade: 'A' }, true, 'No metro has grade A'],
    [{ state: 'OH', signal: 'hold', grade: 'F' }, false, 'No metro in Ohio had grade F and the signal “hold”'],
    [{ state: 'OH' }, true, 'No market matches'],
    [{ q: 'nowhere', grade: 'A' }, true, 'No market matches'],
  ] as const) {
    it(`is “${expected}” for ${JSON.stringify(chosen)}`, () =>
      expect(findingOf([], { ...shown, measure: 'forecast', isNewest, chosen: { ...unfiltered, ...chosen } })).to.equal(
        expected,
      ));
  }
});

describe('the title of a filtered list', () => {
  const titleWith = (more: Record<string, string>) =>
    findingOf([boise, boise], { ...shown, measure: 'forecast', chosen: { ...unfiltered, ...more } });

  for (const [more, group] of [
    [{ state: 'ID' }, 'both metros in Idaho'],
    [{ grade: 'A' }, 'both metros with grade A'],
    [{ signal: 'hold' }, 'both metros with the signal “hold”'],
    [{ state: 'ID', grade: 'A', signal: 'hold' }, 'both metros in Idaho with grade A and the signal “hold”'],
    [{ q: 'boise', state: 'ID' }, 'both metros'],
  ] as const) {
    it(`is about ${group} for ${JSON.stringify(more)}`, () =>
      expect(titleWith(more)).to.equal(`House prices are expected to rise in ${group} by 2026 Q4`));
  }

  it('does not name the state if one of its metros has no forecast', () =>
    expect(
      findingOf([boise, boise, { ...boise, forecast: null }], { ...shown, measure: 'forecast', chosen: inIdaho }),
    ).to.equal('House prices are expected to rise in both metros by 2026 Q4'));
});

describe('the file name of a comparison', () => {
  const boiseAndSeattle = [{ short: 'Boise' }, { short: 'San José' }];
  for (const [chosen, expected] of [
    [{ show: 'rebased', real: false }, 'rebased-boise-san-jose'],
    [{ show: 'rebased', real: true }, 'rebased-real-boise-san-jose'],
    [{ show: 'change', real: false }, 'yearly-change-boise-san-jose'],
    [{ show: 'nation', real: true }, 'difference-from-nation-boise-san-jose'],
  ] as const) {
    it(`is ${expected}`, () => expect(comparisonFile(boiseAndSeattle, chosen)).to.equal(expected));
  }

  it('has at most 60 characters', () => {
    const name = comparisonFile(Array(8).fill({ short: 'Minneapolis' }), { show: 'change', real: true });
    expect(name)
      .to.have.length.at.most(60)
      .and.match(/^yearly-change-real-minneapolis-.*[a-z]$/);
  });
});

describe('the title of a comparison', () => {
  const options = {
    dates: ['2025-01-01', '2025-10-01'],
    lines: [
      { label: 'Austin, TX', values: [100, 98] },
      { label: 'Unemployment', values: [4, 5] },
    ],
  };
  for (const [real, expected] of [
    [[], 'Unemployment rose most (+25.0%) and Austin, TX fell most (−2.0%) since 2025 Q1'],
    [
      ['Austin, TX', 'Unemployment'],
      'Unemployment rose most (+25.0%) and Austin, TX fell most (−2.0%) in real terms from 2025 Q1 to 2025 Q4',
    ],
    [
      ['Austin, TX'],
      'Unemployment rose most (+25.0%) and Austin, TX fell most (−2.0% in real terms) from 2025 Q1 to 2025 Q4',
    ],
  ] as const) {
    it(`says which lines are in real terms: ${real.join() || 'none'}`, () =>
      expect(comparisonFinding(options, { show: 'rebased', realLabels: new Set(real), isPrices: false })).to.equal(
        expected,
      ));
  }

  const lineOf = (label: string, values: readonly (number | null)[]) => ({ label, values });
  const dates = ['2024-01-01', '2024-04-01', '2024-07-01', '2024-10-01'];
  for (const [name, lines, expected] of [
    [
      'the period that all lines have in common',
      [lineOf('A', [100, 110, 121, 121]), lineOf('B', [null, 100, 105, null])],
      'A rose most (+10.0%) and B least (+5.0%) from 2024 Q2 to 2024 Q3',
    ],
    [
      'lines with gaps at the ends of the common period',
      [lineOf('A', [100, null, 121, 130]), lineOf('B', [null, 100, 105, 110])],
      'A rose most (+7.4%) and B least (+4.8%) since 2024 Q3',
    ],
    [
      'falls only',
      [lineOf('A', [100, 100, 100, 99]), lineOf('B', [100, 100, 100, 90])],
      'A fell least (−1.0%) and B most (−10.0%) since 2024 Q1',
    ],
    [
      'equal changes',
      [lineOf('A', [100, 100, 100, 105]), lineOf('B', [10, 10, 10, 10.5])],
      'All rose 5.0% since 2024 Q1',
    ],
    ['a single line', [lineOf('A', [100, 100, 100, 98])], 'A fell 2.0% since 2024 Q1'],
    [
      'lines without a common period',
      [lineOf('A', [100, 105, null, null]), lineOf('B', [null, null, 100, 90])],
      'Compare markets and series',
    ],
  ] as const) {
    it(`describes ${name}: ${expected}`, () =>
      expect(comparisonFinding({ dates, lines }, { show: 'rebased', realLabels: new Set(), isPrices: false })).to.equal(
        expected,
      ));
  }

  const rate = { ...lineOf('UNRATE', [null, 0.1, 0.4, 0.4]), text: String };
  for (const [name, lines, expected] of [
    ['a rate in percentage points', [rate], 'UNRATE changed by +0.4 pp in the year to 2024 Q4'],
    [
      'the lines in percent, if others are in percentage points',
      [lineOf('A', [2, 2, 2, 3]), rate],
      'A rose 3.0% in the year to 2024 Q4',
    ],
  ] as const) {
    it(`describes ${name}: ${expected}`, () =>
      expect(comparisonFinding({ dates, lines }, { show: 'change', realLabels: new Set(), isPrices: false })).to.equal(
        expected,
      ));
  }

  for (const [lines, expected] of [
    [
      [lineOf('A', [100, 100, 100, 110]), lineOf('B', [100, 100, 100, 105]), lineOf('C', [100, 100, 100, 98])],
      'House prices rose most in A (+10.0%) and fell most in C (−2.0%) since 2024 Q1',
    ],
    [[lineOf('A', [100, 100, 100, 110])], 'House prices in A rose 10.0% since 2024 Q1'],
    [
      [lineOf('A', [100, 100, 100, 110]), lineOf('B', [10, 10, 10, 11])],
      'House prices rose 10.0% in all since 2024 Q1',
    ],
  ] as const) {
    it(`names house prices if it compares nothing else: ${expected}`, () =>
      expect(comparisonFinding({ dates, lines }, { show: 'rebased', realLabels: new Set(), isPrices: true })).to.equal(
        expected,
      ));
  }
});

describe('the key figures of the front page', () => {
  const market = (name: string, forecast: number, last: number) => ({
    ...{ name, forecast_12m: forecast, yoy_price: last, target_period: '2026-10-01', cbsa: '1' },
  });
  const frontPage = (markets: readonly object[], runs: readonly object[] = [], series: readonly object[] = []) => {
    const data = new Map<string, unknown>([
      ['/markets', markets],
      ['/forecast-runs', runs],
      ['/forecast-backtest', null],
      ['/series', series],
    ]);
    const get = async (target: string) => ({ data: data.has(target) ? data.get(target) : [] });
    return metroFrontPage({ get } as unknown as FrontPageContext);
  };
  const textsOf = async (...markets: readonly object[]) => {
    const { findings = [], figure: map } = await frontPage(markets);
    return [...findings.map(({ figure, sentence }) => `${figure}: ${sentence}`), map?.title];
  };
  for (const [name, markets, expected] of [
    [
      'one metro',
      [market('Boise City, ID', -1.26, 2)],
      [
        '+2.0%: House prices rose 2.0% in the year to 2025 Q4 in Boise City, ID; the model expects a fall of 1.3% by 2026 Q4.',
        'House prices are expected to fall 1.3% in Boise City, ID by 2026 Q4',
      ],
    ],
    [
      'two falling metros without a change in the last year',
      [market('Boise City, ID', -1, 0.04), market('Austin, TX', -2, -0.04)],
      [
        '0.0%: House prices did not change in the year to 2025 Q4 in the median metro; the model expects a fall of 1.5% by 2026 Q4.',
        '−2.0 to −1.0%: By 2026 Q4, the forecasts range from Austin, TX (−2.0%) to Boise City, ID (−1.0%).',
        'House prices are expected to rise in none of the 2 metros by 2026 Q4',
      ],
    ],
    [
      'metros with equal forecasts',
      [market('Boise City, ID', 0, 1), market('Austin, TX', 0, 1), market('Reno, NV', 0, 1)],
      [
        '+1.0%: House prices rose 1.0% in the year to 2025 Q4 in the median metro; the model expects no change by 2026 Q4.',
        '0.0%: By 2026 Q4, all forecasts are 0.0%.',
        'House prices are expected to rise in none of the 3 metros by 2026 Q4',
      ],
    ],
    [
      'two rising metros',
      [market('Boise City, ID', 1, 1), market('Austin, TX', 2, 1)],
      [
        '+1.0%: House prices rose 1.0% in the year to 2025 Q4 in the median metro; the model expects a rise of 1.5% by 2026 Q4.',
        '+1.0 to +2.0%: By 2026 Q4, the forecasts range from Boise City, ID (+1.0%) to Austin, TX (+2.0%).',
        'House prices are expected to rise in both metros by 2026 Q4',
      ],
    ],
  ] as const) {
    it(`describe ${name}`, async () => expect(await textsOf(...markets)).to.deep.equal(expected));
  }

  it('end the last year in the newest quarter of the index, even if the forecasts are older', async () => {
    const series = [{ series_id: 'metro_hpi', observation_end: '2026-01-01', title: 'Index', source: 'FHFA' }];
    const { findings = [] } = await frontPage([market('Boise City, ID', 1, 2)], [], series);
    expect(findings[0]?.sentence).to.equal(
      'House prices rose 2.0% in the year to 2026 Q1 in Boise City, ID; the model expects a rise of 1.0% by 2026 Q4.',
    );
  });

  it('explain the median only if there are several metros', async () => {
    const run = { id: 1, model_version: 'm-1', run_at: '2026-01-01T00:00:00Z', basis: 'published' };
    const aboutOf = async (...markets: readonly object[]) => {
      const ofRun = markets.map((each) => ({ ...each, run_id: run.id }));
      return (await frontPage(ofRun, [run])).about?.join(' ');
    };
    const one = market('Boise City, ID', 1, 1);
    expect(await aboutOf(one))
      .to.match(/^Forecasts: model m-1/)
      .and.not.contain('median');
    expect(await aboutOf(one, market('Austin, TX', 2, 2))).to.contain('The median counts each metro once');
  });
});
