import { expect } from 'chai';
import { pageModules } from '../../support/page-modules.js';

const { isNumeric } = await pageModules('core/pages/shared/markdown');

const columnOf = (cells: readonly string[]) => cells.map((cell) => ['name', cell]);

describe('a column of a table in a guide', () => {
  for (const cells of [
    ['1.82', '-0.0292', '1,640'],
    ['43.0%', '−0.4%'],
    ['+0.14 pp', '–'],
    ['2 points', ''],
  ]) {
    it(`contains numbers: ${cells.join(', ')}`, () => expect(isNumeric(columnOf(cells), 1)).to.equal(true));
  }

  for (const cells of [['2021', '2006 to 2013'], ['`growth_4q`'], ['6- and 12-month growth'], ['', '–'], []]) {
    it(`contains text: ${cells.join(', ') || 'no cells'}`, () => expect(isNumeric(columnOf(cells), 1)).to.equal(false));
  }
});
