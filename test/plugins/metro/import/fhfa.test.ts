import { expect } from 'chai';
import { readRows } from '../../../../plugins/metro/import/csv.js';
import { readFhfaMetro } from '../../../../plugins/metro/import/fhfa.js';
import { ImportErrors } from '../../../../plugins/metro/import/import-errors.js';
import { quarterIndex } from '../../../../plugins/metro/periods.js';

const read = async (lines: readonly string[]) => {
  const errors = new ImportErrors();
  const bytes = async function* () {
    yield Buffer.from(lines.map((line) => `${line}\r\n`).join(''));
  };
  const areas = await readFhfaMetro(readRows(bytes(), 'hpi.csv', errors), 'hpi.csv', errors);
  return { areas, errors: errors.listRows() };
};

describe('plugins/metro/import/fhfa', () => {
  it('reads quoted names, missing values and standard errors, and leaves out gaps', async () => {
    const { areas, errors } = await read([
      '"Abilene, TX",10180,1975,1,-,-',
      '"Abilene, TX",10180,1975,2,23.58,( 0.19)',
      '"Abilene, TX",10180,1975,3,-,-',
      '"Abilene, TX",10180,1975,4,24.00,(10.19)',
    ]);
    expect(errors).to.deep.equal([]);
    expect(areas).to.deep.equal([
      {
        cbsa: '10180',
        name: 'Abilene, TX',
        quarters: [quarterIndex(1975, 2), quarterIndex(1975, 4)],
        values: [23.58, 24],
        errors: [0.19, 10.19],
      },
    ]);
  });

  it('writes names of divisions with single spaces', async () => {
    const { areas } = await read(['"Anaheim-Santa Ana-Irvine, CA  (MSAD)",11244,2024,1,400.10,( 1.00)']);
    expect(areas[0]?.name).to.equal('Anaheim-Santa Ana-Irvine, CA (MSAD)');
  });

  it('keeps leading zeros of codes, and areas without any value', async () => {
    const { areas } = await read(['"Nowhere, XX",00042,2024,1,-,-']);
    expect(areas).to.deep.equal([{ cbsa: '00042', name: 'Nowhere, XX', quarters: [], values: [], errors: [] }]);
  });

  it('sorts rows', async () => {
    const { areas, errors } = await read([
      '"B, TX",20000,2024,2,2,-',
      '"A, TX",10000,2024,4,4,-',
      '"A, TX",10000,2024,1,1,-',
      '"B, TX",20000,2024,1,1,-',
      '"A, TX",10000,2024,3,3,-',
    ]);
    expect(errors).to.deep.equal([]);
    expect(areas.map(({ cbsa, values }) => [cbsa, ...values])).to.deep.equal([
      ['10000', 1, 3, 4],
      ['20000', 1, 2],
    ]);
  });

  const good = '"A, TX",10000,2024,1,100.00,( 1.00)';
  const bad: readonly [what: string, row: string, rule: RegExp][] = [
    ['a code of 4 digits', '"A, TX",1000,2024,2,100.00,-', /code must be 5 digits, but is "1000"/],
    ['a code with a letter', '"A, TX",1000x,2024,2,100.00,-', /code must be 5 digits, but is "1000x"/],
    ['quarter 5', '"A, TX",10000,2024,5,100.00,-', /quarter must be 1 to 4, but is "5"/],
    ['a year of two digits', '"A, TX",10000,24,2,100.00,-', /year must be 1900 to 2099, but is "24"/],
    ['a negative index', '"A, TX",10000,2024,2,-5.00,-', /index must be a number above 0 or "-", but is "-5.00"/],
    ['an index of 0', '"A, TX",10000,2024,2,0,-', /index must be .* but is "0"/],
    ['an index of NaN', '"A, TX",10000,2024,2,NaN,-', /index must be .* but is "NaN"/],
    ['an infinite index', '"A, TX",10000,2024,2,Infinity,-', /index must be .* but is "Infinity"/],
    ['an index beyond doubles', `"A, TX",10000,2024,2,${'9'.repeat(400)},-`, /index must be/],
    ['an empty index', '"A, TX",10000,2024,2,,-', /index must be .* but is ""/],
    ['a truncated row', '"A, TX",10000,2024,2,100.0', /must have 6 cells .* but has 5/],
    ['a truncated standard error', '"A, TX",10000,2024,2,100.00,( 1.', /standard error must be .* but is "\( 1\."/],
    ['no name', ',10000,2024,2,100.00,-', /name must be text in UTF-8/],
    ['a second name for the code', '"B, TX",10000,2024,2,100.00,-', /10000 is "B, TX" here and "A, TX" on line 1/],
    ['a duplicate quarter', '"A, TX",10000,2024,1,101.00,-', /10000 has more than one row for 2024 Q1/],
    ['two errors at once', '"A, TX",1,2024,9,100.00,-', /code must .*; the quarter must/],
  ];
  for (const [what, row, rule] of bad) {
    it(`reports ${what} by its line and rule, once, and leaves the row out`, async () => {
      const { areas, errors } = await read([good, row]);
      expect(errors).to.have.length(1);
      expect(errors[0])
        .to.match(/^hpi\.csv:2: /)
        .and.match(rule);
      expect(areas).to.deep.equal([
        { cbsa: '10000', name: 'A, TX', quarters: [quarterIndex(2024, 1)], values: [100], errors: [1] },
      ]);
    });
  }

  it('reports a second row for a quarter, even if the first has no value', async () => {
    const { errors } = await read(['"A, TX",10000,2024,1,-,-', '"A, TX",10000,2024,1,101.00,-']);
    expect(errors).to.have.length(1);
  });
});
