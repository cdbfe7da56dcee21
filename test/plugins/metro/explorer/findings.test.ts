import { expect } from 'chai';
import { pageModules } from '../../../support/page-modules.js';

const { findingOf } = await pageModules('metro/explorer/browser/markets/texts');
const { findingOf: comparisonFinding } = await pageModules('metro/explorer/browser/compare/finding');

const boise = { name: 'Boise City, ID', forecast: 3.6, last: -0.2, grade: 'B', signal: 'hold' };
const austin = { name: 'Austin, TX', forecast: -1.2, last: -2, grade: 'F', signal: 'hold' };
const shown = { run: { target: '2026-10-01' }, isNewest: true, until: '2025-10-01' };

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
    ['all metros', [boise, boise], 'forecast', 'House prices are expected to rise in all 2 metros by 2026 Q4'],
    ['no metro', [boise, austin], 'signal', 'None of the 2 metros have the signal “expand”'],
    ['an empty list', [], 'forecast', 'No market matches'],
  ] as const) {
    it(`is about ${name}: ${expected}`, () => expect(findingOf(rows, { ...shown, measure })).to.equal(expected));
  }
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
    [[], 'Since 2025 Q1, Unemployment rose most (+25.0%) and Austin, TX least (-2.0%)'],
    [['Austin, TX'], 'Since 2025 Q1, Unemployment rose most (+25.0%) and Austin, TX least (-2.0% in real terms)'],
  ] as const) {
    it(`says which lines are in real terms: ${real.join() || 'none'}`, () =>
      expect(comparisonFinding(options, 'rebased', new Set(real))).to.equal(expected));
  }
});
