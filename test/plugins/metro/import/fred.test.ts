import { expect } from 'chai';
import { readRows } from '../../../../plugins/metro/import/csv.js';
import { readFred } from '../../../../plugins/metro/import/fred.js';
import { ImportErrors } from '../../../../plugins/metro/import/import-errors.js';

const read = async (text: string, file = 'downloads/UNRATE.csv') => {
  const errors = new ImportErrors();
  const bytes = async function* () {
    yield Buffer.from(text);
  };
  const all = await readFred(readRows(bytes(), file, errors), file, errors);
  let message = '';
  try {
    errors.throwIfAny(false);
  } catch (error) {
    message = (error as Error).message;
  }
  return { series: all[0], all, message };
};

const unrate = { id: 'UNRATE', cadence: 'monthly', days: ['2025-09-01', '2025-11-01'], values: [4.4, 4.6] };

describe('plugins/metro/import/fred', () => {
  for (const [header, file] of [
    ['date,value', 'downloads/UNRATE.csv'],
    ['date,value', 'unrate.csv'],
    ['date,value', 'http://127.0.0.1:8000/UNRATE.csv?download=1'],
    ['observation_date,UNRATE', 'fredgraph.csv'],
    ['DATE,UNRATE', 'fredgraph (1).csv'],
    ['\ufeff"DATE","UNRATE"\r', 'http://127.0.0.1:8000/fredgraph.csv?id=UNRATE'],
  ] as const) {
    it(`reads the series from ${JSON.stringify(header)} in ${file}`, async () => {
      const { series, message } = await read(`${header}\n2025-09-01,4.4\n2025-10-01,\n2025-11-01,4.6\n`, file);
      expect(message).to.equal('');
      expect(series).to.deep.equal(unrate);
    });
  }

  it('reads every series of a file, with the cadence of its own values', async () => {
    const rows = ['observation_date,UNRATE,GDP', '2024-01-01,3.7,28000', '2024-02-01,3.9,', '2024-03-01,3.8,'];
    const { all } = await read([...rows, '2024-04-01,.,28500', '2024-05-01,4.0,'].join('\n'), 'fredgraph.csv');
    expect(all).to.deep.equal([
      {
        id: 'UNRATE',
        cadence: 'monthly',
        days: ['2024-01-01', '2024-02-01', '2024-03-01', '2024-05-01'],
        values: [3.7, 3.9, 3.8, 4],
      },
      { id: 'GDP', cadence: 'quarterly', days: ['2024-01-01', '2024-04-01'], values: [28000, 28500] },
    ]);
    const { message } = await read('DATE,UNRATE,GDP\n2024-01-01,3.7\n', 'fredgraph.csv');
    expect(message).to.match(/must have 3 cells \(date, value\), but has 2/);
  });

  for (const [cadence, days] of [
    ['biweekly', ['2020-01-01', '2020-01-15', '2020-01-29', '2020-02-12']],
    ['semiannual', ['2020-01-01', '2020-07-01', '2021-01-01', '2021-07-01']],
    ['five-year', ['2007-01-01', '2012-01-01', '2017-01-01']],
    ['irregular', ['2022-03-17', '2022-05-05', '2022-06-16']],
    ['irregular', ['2025-01-01']],
  ] as const) {
    it(`finds the cadence ${cadence} of ${days.join(', ')}`, async () => {
      const { series } = await read(`DATE,EXOTIC1\n${days.map((day) => `${day},1\n`).join('')}`);
      expect(series?.cadence).to.equal(cadence);
    });
  }

  it('prefers the cadence of the dates to the catalog for a series that was averaged over longer periods', async () => {
    const dates = ['2020', '2021', '2022', '2023'].map((year) => `${year}-01-01,4\n`).join('');
    expect((await read(`DATE,UNRATE\n${dates}`)).series?.cadence).to.equal('annual');
    expect((await read(`DATE,DGS10\n${dates}`)).series?.cadence).to.equal('annual');
  });

  it('leaves out values that are empty or "."', async () => {
    const { series } = await read('date,value\n2025-09-01,4.4\n2025-10-01,.\n2025-11-01,4.6\n2025-12-01,\n');
    expect(series).to.deep.equal(unrate);
  });

  it('infers the cadence of a series that is not in the catalog', async () => {
    const { series } = await read('DATE,EXOTIC1\n2025-01-01,-1.5\n2025-04-01,.\n2025-07-01,2e3\n');
    expect(series).to.deep.equal({
      id: 'EXOTIC1',
      cadence: 'quarterly',
      days: ['2025-01-01', '2025-07-01'],
      values: [-1.5, 2000],
    });
  });

  it('keeps a series without any value', async () => {
    const { series } = await read('DATE,UNRATE\n2025-01-01,.\n');
    expect(series).to.deep.equal({ id: 'UNRATE', cadence: 'monthly', days: [], values: [] });
  });

  for (const [what, row, rule] of [
    ['a day that is not in the calendar', '2025-02-30,1', /date must be a valid day like .* but is "2025-02-30"/],
    ['a month without day', '2025-02,1', /date must be a valid day like/],
    ['a monthly value in mid-month', '2025-02-15,1', /must be the first day of its period, but is "2025-02-15"/],
    ['text for a value', '2025-02-01,n/a', /value must be a number, "\." or empty, but is "n\/a"/],
    ['NaN', '2025-02-01,NaN', /value must be a number/],
    ['an infinite value', '2025-02-01,1e999', /value must be a number/],
    ['hexadecimal', '2025-02-01,0x10', /value must be a number/],
    ['a third cell', '2025-02-01,1,2', /must have 2 cells \(date, value\), but has 3/],
    ['a duplicate date', '2025-01-01,2', /more than one row for 2025-01-01/],
  ] as const) {
    it(`reports ${what} by its line and rule, and leaves the row out`, async () => {
      const { series, message } = await read(`DATE,UNRATE\n2025-01-01,1\n${row}\n`);
      expect(message).to.include('downloads/UNRATE.csv:3: ').and.match(rule);
      expect(series?.values).to.deep.equal([1]);
    });
  }

  it('rejects a file whose series has no name', async () => {
    const unnamed = await read('DATE,\n2025-01-01,1\n');
    expect(unnamed.series).to.equal(undefined);
    expect(unnamed.message).to.match(/the header or the file name must contain the series id/);
  });
});
