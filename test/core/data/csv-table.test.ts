/** A CSV becomes a collection: cells by RFC 4180, types by all cells of a column, faults by their lines. */
import { expect } from 'chai';
import fc from 'fast-check';
import { checkCollection } from '../../../core/data/check-collection.js';
import { type ColumnType, type CsvTableOptions, parseCsv, tableOfCsv } from '../../../core/data/csv-table.js';
import type { OperatorError } from '../../../core/errors.js';
import { compileSchema } from '../../../core/validation/compile-schema.js';

const read = (text: string, options: Partial<CsvTableOptions> = {}) =>
  tableOfCsv(text, { file: 'a.csv', name: 'things', key: ['id'], sort: [], types: new Map(), ...options });
const faultsOf = (text: string, options: Partial<CsvTableOptions> = {}): readonly string[] => {
  try {
    read(text, options);
  } catch (error) {
    return (error as OperatorError).faults;
  }
  return [];
};
const cells = (text: string) => parseCsv(text, ',', () => undefined).map((record) => record.cells);

describe('parseCsv(text, separator, onFault)', () => {
  it('reads back whatever RFC 4180 writes, with either line end', () => {
    const cell = fc.string({ unit: fc.constantFrom('a', '"', ',', '\n', '\r\n', ' ', 'é', '=') });
    const table = fc.array(fc.array(cell, { minLength: 2, maxLength: 2 }));
    fc.assert(
      fc.property(table, fc.constantFrom('\n', '\r\n'), (rows, end) => {
        const line = (row: readonly string[]) => row.map((each) => `"${each.replaceAll('"', '""')}"`).join(',') + end;
        expect(cells(rows.map(line).join(''))).to.deep.equal(rows);
      }),
    );
  });
  it('passes over empty lines, and needs no line end at the end', () => {
    expect(cells('a,b\n\n\r\n1,2')).to.deep.equal([
      ['a', 'b'],
      ['1', '2'],
    ]);
  });
  it('counts lines inside quotes', () => {
    expect(parseCsv('"a\nb"\nc', ',', () => undefined).map(({ line }) => line)).to.deep.equal([1, 3]);
  });
});

describe('tableOfCsv(text, options)', () => {
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
    it(`takes ${JSON.stringify(given)} for ${type}`, () => {
      const { columns, rows, collection } = read(`id,v\n${given.map((cell, i) => `${i},${cell}\n`).join('')}`);
      expect(columns[1]).to.include({ type, guessed: true, empty: values.filter((each) => each === null).length });
      expect(rows.map(({ v }) => v)).to.deep.equal(values);
      expect(checkCollection(collection)).to.deep.equal([]);
      for (const row of rows) expect(compileSchema(collection.schema)(row)).to.equal(true);
    });
  }

  it('sorts by the key as its type says, and declares an order for each column to sort by', () => {
    const { rows, collection } = read('id,year\n10,1\n9,2\n', { sort: ['year'] });
    expect(rows.map(({ id }) => id)).to.deep.equal([9, 10]);
    expect(collection.orders).to.deep.equal([['year', 'id']]);
    expect(read('id\n10\n9\n', { types: new Map([['id', 'text']]) }).rows.map(({ id }) => id)).to.deep.equal([
      '10',
      '9',
    ]);
  });
  it('makes names of headings, and reads semicolons and a byte order mark', () => {
    const { columns } = read('ID;Permit No.;2024\n1;x;y\n');
    expect(columns.map(({ name }) => name)).to.deep.equal(['id', 'permit_no', 'c_2024']);
  });

  for (const [what, text, options, ...faults] of [
    ['a row with too few cells', 'id,v\n1,2\n3\n', {}, 'line 3: has 1 cells, and the first line names 2 columns'],
    ['the same key twice', 'id,v\n1,a\n2,b\n1,c\n', {}, 'line 4: has the key of line 2: id 1'],
    ['an empty key', 'id,v\n1,a\n,b\n', {}, 'line 3: "id" is empty, and cannot be as the key'],
    [
      'an empty cell to sort by',
      'id,v\n1,\n',
      { sort: ['v'] },
      'line 2: "v" is empty, and cannot be as a column to sort by',
    ],
    [
      'a cell not of the type that is named',
      'id,v\n1,x\n',
      { types: new Map([['v', 'number']]) },
      'line 2: "v" must be a number like 12.5, and is "x"',
    ],
    ['an unknown column', 'id,v\n1,x\n', { key: ['idd'] }, 'there is no column "idd"; did you mean "id"?'],
    ['two columns of one name', 'id,A b,a_b\n1,2,3\n', {}, 'line 1: columns 2 and 3 are both called "a_b"'],
    ['a quote that is not closed', 'id,v\n1,"x\n', {}, 'line 2: has a quote that is not closed'],
    [
      'text behind a quote',
      'id,v\n1,"x"y\n',
      {},
      'line 2: has a quote inside a cell: cells with quotes are written in quotes, each quote of theirs twice',
    ],
    ['nothing', '', {}, 'it is empty: its first line must name the columns'],
    ['no rows', 'id\n', {}, 'it has no rows, by which the types of its columns could be known'],
  ] as readonly (readonly [string, string, Partial<CsvTableOptions>, ...string[]])[]) {
    it(`refuses ${what}`, () => expect(faultsOf(text, options)).to.deep.equal(faults));
  }
  it('names twenty faults, and counts the others', () => {
    const faults = faultsOf(`id,v\n${'1\n'.repeat(30)}`);
    expect(faults).to.have.length(21);
    expect(faults.at(-1)).to.equal('and 10 more');
  });
});
