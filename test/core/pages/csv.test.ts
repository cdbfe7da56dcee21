import { expect } from 'chai';
import { csvFormat } from '../../../core/response/csv-format.js';
import { parseCsv } from '../../support/csv-parser.js';
import { pageModules } from '../../support/page-modules.js';
import { writtenList } from '../../support/written-list.js';

const { csvOf } = await pageModules('core/pages/data-views/csv');

const TEXTS = Array.from({ length: 0x10000 }, (_, code) => String.fromCharCode(code)).flatMap((first) => [
  `${first}1+1`,
  `'${first}`,
  `''${first}x`,
  `x${first}`,
  ` ${first}`,
]);

describe('csvOf(rows)', () => {
  it('guards against the same formulas as CSV from the service', async () => {
    const own = await writtenList(
      csvFormat(true),
      ['a'],
      TEXTS.map((a) => ({ a })),
    );
    const page = csvOf([['a'], ...TEXTS.map((text) => [text])]);
    expect(own.equals(Buffer.from(page))).to.equal(true);
    const guarded = parseCsv(page)
      .slice(1)
      .filter(([cell], i) => cell !== TEXTS[i]);
    expect(guarded).to.have.length(3 * '=+-@\t\r\n＝＋－＠'.length);
  });

  it('guards column names and every cell of a row', () => {
    expect(
      csvOf([
        ['=a', 'b'],
        ['x', '@b,"c"'],
      ]),
    ).to.equal(`'=a,b\r\nx,"'@b,""c"""\r\n`);
  });

  it('leaves numbers with all their digits and empty cells unchanged', () => {
    expect(
      csvOf([
        ['a', 'b', 'c'],
        [-1.5, null, undefined],
        [-0.12345678, 0, 1e-9],
      ]),
    ).to.equal('a,b,c\r\n-1.5,,\r\n-0.12345678,0,1e-9\r\n');
  });
});
