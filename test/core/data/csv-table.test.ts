/** Reading a CSV file as a collection: types are inferred from all cells of a column, and errors have line numbers. */
import { expect } from 'chai';
import { checkCollection } from '../../../core/data/check-collection.js';
import type { ColumnType } from '../../../core/data/column-types.js';
import { type CsvTableOptions, readCsvTable } from '../../../core/data/csv-table.js';
import type { OperatorError } from '../../../core/errors.js';
import { compileSchema } from '../../../core/validation/compile-schema.js';
import { inChunks } from './chunks.js';

const read = async (text: string, options: Partial<CsvTableOptions> = {}) => {
  const given = { file: 'a.csv', name: 'things', key: ['id'], sort: [], types: new Map(), ...options };
  const { rows, ...table } = await readCsvTable(inChunks(text), given);
  return { ...table, rows: [...rows()].flat() };
};
const errorsOf = (text: string, options: Partial<CsvTableOptions> = {}): Promise<readonly string[]> =>
  read(text, options).then(
    () => [],
    (error: OperatorError) => error.errors,
  );

describe('readCsvTable(bytes, options)', () => {
  const types: readonly (readonly [type: ColumnType, values: readonly unknown[], ...cells: string[]])[] = [
    ['integer', [1, -20, 0], '1', '-20', '0'],
    ['number', [1, 2.5, -1e-7], '1', '2.5', '-1e-7'],
    ['text', ['01001', '36061'], '01001', '36061'],
    ['text', ['1', '9007199254740993'], '1', '9007199254740993'],
    ['text', ['1', '1e999'], '1', '1e999'],
    ['text', ['1', 'n/a'], '1', 'n/a'],
    ['date', ['2024-02-29', '1999-12-31'], '2024-02-29', '1999-12-31'],
    ['text', ['2024-02-29', '2025-02-29'], '2024-02-29', '2025-02-29'],
    ['boolean', [true, false], 'true', 'false'],
    ['integer', [1, null], '1', ''],
    ['text', [null, null], '', ''],
  ];
  for (const [type, values, ...given] of types) {
    it(`reads a column of ${JSON.stringify(given)} as ${type}`, async () => {
      const { columns, rows, collection } = await read(`id,v\n${given.map((cell, i) => `${i},${cell}\n`).join('')}`);
      expect(columns[1]).to.include({ type, guessed: true, empty: values.filter((each) => each === null).length });
      expect(rows.map(({ v }) => v)).to.deep.equal(values);
      expect(checkCollection(collection)).to.deep.equal([]);
      for (const row of rows) expect(compileSchema(collection.schema)(row)).to.equal(true);
    });
  }

  it('sorts by the key according to its type, and declares an order for each column to sort by', async () => {
    const { rows, collection } = await read('id,year\n10,1\n9,2\n', { sort: ['year'] });
    expect(rows.map(({ id }) => id)).to.deep.equal([9, 10]);
    expect(collection.orders).to.deep.equal([['year', 'id']]);
    const asText = await read('id\n10\n9\n', { types: new Map([['id', 'text']]) });
    expect(asText.rows.map(({ id }) => id)).to.deep.equal(['10', '9']);
  });

  it('derives field names from headings, and reads semicolons and a byte order mark', async () => {
    const { columns } = await read('\ufeffID;Permit No.;2024\n1;x;y\n');
    expect(columns.map(({ name }) => name)).to.deep.equal(['id', 'permit_no', 'c_2024']);
  });

  it('reads tabs, with empty cells at the start and the end of a row', async () => {
    const { rows } = await read('a\tid\tb\n\t1 \t\nx\t 2\ty\n');
    expect(rows).to.deep.equal([
      { a: null, id: 1, b: null },
      { a: 'x', id: 2, b: 'y' },
    ]);
  });

  it('reads 5,000 columns', async () => {
    const line = (cell: (i: number) => string) => Array.from({ length: 5000 }, (_, i) => cell(i)).join();
    const { columns, rows } = await read(`id,${line((i) => `c${i}`)}\n1,${line(String)}\n`);
    expect(columns).to.have.length(5001);
    expect(rows[0]).to.include({ id: 1, c4999: 4999 });
  });

  const quoted =
    'line 2: has a quote inside a cell: a cell with quotes is written in quotes, and its quotes are doubled';
  for (const [what, text, options, ...errors] of [
    ['a row with too few cells', 'id,v\n1,2\n3\n', {}, 'line 3: has 1 cells, and the first line names 2 columns'],
    ['the same key twice', 'id,v\n1,a\n2,b\n1,c\n', {}, 'line 4: has the key of line 2: id 1'],
    ['an empty key', 'id,v\n1,a\n,b\n', {}, 'line 3: "id" is empty: a key needs a value'],
    [
      'an empty cell in a sort column',
      'id,v\n1,\n',
      { sort: ['v'] },
      'line 2: "v" is empty: a column to sort by needs a value',
    ],
    [
      'a cell that does not match the given type',
      'id,v\n1,x\n',
      { types: new Map([['v', 'number']]) },
      'line 2: "v" must be a number like 12.5, and is "x"',
    ],
    ['an unknown column', 'id,v\n1,x\n', { key: ['idd'] }, 'there is no column "idd"; did you mean "id"?'],
    ['two columns with one name', 'id,A b,a_b\n1,2,3\n', {}, 'line 1: columns 2 and 3 are both called "a_b"'],
    ['a quote that is not closed', 'id,v\n1,"x\n', {}, 'line 2: has a quote that is not closed'],
    [
      'a quote that is not closed before many rows',
      `id,v\n\n1,"x\n${'2,y\n'.repeat(500_000)}`,
      {},
      'line 3: has a quote that is not closed',
    ],
    ['text after a quote', 'id,v\n1,"x"y\n', {}, quoted],
    ['a quote in the middle of a cell', 'id,v\n1,6" pipe\n', {}, quoted],
    ['nothing', '', {}, 'it is empty: its first line must name the columns'],
    ['no rows', 'id\n', {}, 'it has no rows: the types of its columns are guessed from them'],
    [
      '200,000 columns',
      `id${',c'.repeat(200_000)}\n1\n`,
      {},
      'line 1: has 200,001 columns; a table has at most 20,000',
    ],
  ] as readonly (readonly [string, string, Partial<CsvTableOptions>, ...string[]])[]) {
    it(`rejects ${what}`, async () => expect(await errorsOf(text, options)).to.deep.equal(errors));
  }

  it('lists 20 errors and the number of further errors', async () => {
    const errors = await errorsOf(`id,v\n${'1\n'.repeat(30)}`);
    expect(errors).to.have.length(21);
    expect(errors.at(-1)).to.equal('and 10 more');
  });

  it('stops after 1,000 errors', async () => {
    expect((await errorsOf(`id,v\n${'1\n'.repeat(5000)}`)).at(-1)).to.equal('and 980 more');
  });
});
