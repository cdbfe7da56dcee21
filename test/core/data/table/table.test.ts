import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { expect } from 'chai';
import type { JsonSchema } from '../../../../core/contracts/json-schema.js';
import { OutOfOrder } from '../../../../core/data/table/key-order.js';
import type { ColumnType } from '../../../../core/data/table/notations.js';
import { readTable, type TableOptions } from '../../../../core/data/table/table.js';
import type { OperatorError } from '../../../../core/errors.js';
import { checkCollection } from '../../../../core/registry/collect-collections.js';
import { compileSchema } from '../../../../core/validation/compile-schema.js';

type Content = string | Uint8Array;

describe('readTable(path, options)', () => {
  let folder: string;
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'table-'));
  });
  after(() => rm(folder, { recursive: true }));

  const read = async (content: Content, options: Partial<TableOptions> = {}) => {
    const path = join(folder, 'a');
    await writeFile(path, content);
    const table = await readTable(
      path,
      {
        file: 'a.csv',
        name: 'things',
        sort: [],
        search: [],
        types: new Map(),
        names: new Map(),
        missing: [],
        ...options,
      },
      true,
    );
    const [key] = table.keys as [(typeof table.keys)[0]];
    const rows: Record<string, unknown>[] = [];
    for await (const { bytes } of table.rows(key, folder)) {
      for (const json of bytes.toString().trimEnd().split('\n')) {
        rows.push(JSON.parse(json));
        expect(json, 'the JSON of a row').to.equal(JSON.stringify(rows.at(-1)));
      }
    }
    const collection = table.collection(key);
    expect(checkCollection(collection)).to.deep.equal([]);
    for (const row of rows) expect(compileSchema(collection.schema)(row)).to.equal(true);
    return {
      ...table,
      found: table.found,
      notes: table.notes,
      key: key.columns,
      columns: table.columns,
      rows,
      collection,
    };
  };
  const errorsOf = (content: Content, options: Partial<TableOptions> = {}): Promise<readonly string[]> =>
    read(content, options).then(
      () => [],
      (error: OperatorError) => (error.errors?.length > 0 ? error.errors : [error.message]),
    );

  describe('units', () => {
    for (const [unit, cells, options = {}] of [
      ['percent', ['12.5 %', '3 %', '']],
      ['percent', ['"12,5 %"', '"3,1 %"'], { decimal: 'comma' }],
      ['percent', ['(12.5%)', '3%']],
      ['€', ['1234.50 €', '2.00 €']],
      ['$', ['$5', '$6'], { types: new Map([['v', 'number']]) }],
      [undefined, ['12.5', '3']],
      [undefined, ['$5', '€6'], { types: new Map([['v', 'number']]) }],
      [undefined, ['12.5 %', '3 %'], { types: new Map([['v', 'text']]) }],
    ] as readonly (readonly [string | undefined, readonly string[], Partial<TableOptions>?])[])
      it(`declares the unit ${unit} of ${JSON.stringify(cells)}${options.types ? ' with --type' : ''}`, async () => {
        const content = `id,v\n${cells.map((cell, i) => `${i},${cell}\n`).join('')}`;
        const { collection } = await read(content, { key: ['id'], ...options });
        const { v } = collection.schema['properties'] as Record<string, JsonSchema>;
        expect(v!['x-unit']).to.equal(unit);
      });
  });

  describe('types', () => {
    const types: readonly (readonly [
      type: ColumnType,
      values: readonly unknown[],
      cells: readonly string[],
      why?: RegExp,
    ])[] = [
      ['integer', [1, -20, 0], ['1', '-20', '0']],
      ['integer', [1, null], ['1', '']],
      ['integer', [3, 4], ['+3', '4']],
      ['number', [1, 2.5, -1e-7], ['1', '2.5', '-1e-7']],
      ['number', [0.5, 0.5, 3, 1000], ['.5', '0.50', '+3', '1e3']],
      ['number', [1, 0.30000000000000004], ['1.', '0.30000000000000004']],
      ['number', [1.5, 2.5], ['1.50', '2.50']],
      ['number', [0.05, 1.2e-6, 1e-7, -2.5e-8], ['0.05', '0.0000012', '0.0000001', '-0.000000025']],
      ['number', [100000, 1.5], ['1E5', '1.5']],
      ['text', ['01001', '36061'], ['01001', '36061'], /^line 2 has "01001": its leading zeros would be lost/],
      ['text', ['+4930123456', '+4930123457'], ['+4930123456', '+4930123457'], /its plus sign would be lost/],
      ['text', ['1', '9007199254740993'], ['1', '9007199254740993'], /^line 3 .* would lose digits/],
      ['text', ['9007199254740993.00'], ['9007199254740993.00'], /would lose digits/],
      ['text', ['12345678901234567890.5'], ['12345678901234567890.5'], /would lose digits/],
      ['text', ['1', '1e999'], ['1', '1e999'], /would lose digits/],
      ['text', ['1', '1e-400'], ['1', '1e-400'], /would lose digits/],
      ['text', ['1.10', '1.1'], ['1.10', '1.1'], /^line 3 has "1.1" where another line has "1.10"/],
      ['text', ['1', '1.0'], ['1', '1.0'], /^line 3 has "1.0" where another line has "1"/],
      ['text', ['1E5', '2E10'], ['1E5', '2E10'], /^line 2 has "1E5", which may be a code/],
      ['text', ['1E5', '123'], ['1E5', '123'], /which may be a code/],
      ['text', ['1', '2', 'x'], ['1', '2', 'x'], /^line 4 has "x", and the 2 values above are of the type integer/],
      ['text', ['x', 'y'], ['x', 'y']],
      ['text', [null, null], ['', ' '], /no cell has a value/],
      ['text', ['NA', 'DE'], ['NA', 'DE']],
      ['integer', [1, null, null], ['1', 'NA', 'n/a']],
      ['integer', [1, null, null, null, null], ['1', '\u2013', '\u2014', ':', '\u2026']],
      ['integer', [1, null, null], ['1', '#DIV/0!', '#REF!']],
      ['number', [1234567, 100000.5], ['"12,34,567"', '"1,00,000.5"'], /without thousands separators/],
      ['number', [5.5, 1200], ['R$ 5.50', '"R$ 1,200.00"'], /^read without R\$/],
      ['number', [1.5, null, null], ['1.5', '.', '-']],
      ['date', ['2024-02-29', null], ['2024-02-29', 'null']],
      ['text', ['2024-02-29', '2025-02-29'], ['2024-02-29', '2025-02-29'], /^line 3 has "2025-02-29"/],
      ['date', ['2024-01-31', '2024-02-01'], ['2024/01/31', '2024/2/1'], /written as YYYY-MM-DD/],
      ['date', ['2024-01-31', '2024-02-01'], ['31.01.2024', '1.2.2024'], /read as day, month, year/],
      ['date', ['2024-01-31', '2024-02-01'], ['01/31/2024', '02/01/2024'], /read as month, day, year/],
      ['text', ['01/02/2024', '02/01/2024'], ['01/02/2024', '02/01/2024'], /the order of day and month is not certain/],
      [
        'datetime',
        ['2024-01-31T12:00:00Z', '2024-01-31T12:00:00.5+01:00'],
        ['2024-01-31T12:00:00Z', '2024-01-31 12:00:00.5+0100'],
      ],
      ['text', ['2024-01-31 12:00'], ['2024-01-31 12:00']],
      ['boolean', [true, false], ['true', 'false']],
      ['boolean', [true, false, null], ['TRUE', 'FALSE', 'NA']],
      ['text', ['true', 'yes'], ['true', 'yes']],
      ['number', [1234, 5, 1234567.5], ['"1,234"', '5', '"1,234,567.5"'], /without thousands separators/],
      ['text', ['1,23', '5'], ['"1,23"', '5']],
      ['number', [12.5, 3], ['12.5%', '3%'], /in percent/],
      ['text', ['12.5%', '3'], ['12.5%', '3']],
      ['text', ['9,007,199,254,740,993', '5'], ['"9,007,199,254,740,993"', '5'], /^line 2 .* would lose digits/],
      ['text', ['12.12345678901234567%'], ['12.12345678901234567%'], /would lose digits/],
      [
        'number',
        [1234.5, 1234.5, 5.1, 5.1],
        ['"1,234.50"', '"1,234.5"', '5.10', '5.1'],
        /without thousands separators/,
      ],
      ['number', [2.5, 2.5], ['2.50%', '2.5%'], /in percent/],
      ['number', [1234567, -5], ['"+1,234,567"', '-5']],
      ['text', ['01%', '2%'], ['01%', '2%'], /leading zeros would be lost/],
      [
        'number',
        [1234.5, -5, -6],
        ['"$1,234.50"', '($5.00)', '-$6.00'],
        /^read without \$, read with brackets as negative/,
      ],
      ['number', [1234.5, 2], ['1234.50 €', '2.00 €'], /^read without €$/],
      ['text', ['$5', '€6'], ['$5', '€6'], /^line 3 has "€6", but line 2 has "\$5"/],
      ['text', ['$5', '6'], ['$5', '6'], /^line 3 has "6", but line 2 has "\$5"/],
      ['text', ['5', '$6'], ['5', '$6'], /^line 2 has "5", but line 3 has "\$6"/],
      ['integer', [-1, 2], ['(1)', '2'], /^read with brackets as negative$/],
      ['text', ['(1)', '(2)'], ['(1)', '(2)'], /^line 2 has "\(1\)": if it is a number, use --type$/],
      ['text', ['(555) 1234'], ['(555) 1234']],
      ['number', [-1.5, 2], ['\u22121.5', '2']],
      ['number', [1234567.5, 8], ['1\u00a0234\u00a0567.5', '8'], /^read without thousands separators$/],
      ['integer', [1234, 12345], ['1\u202f234', '12\u202f345'], /^read without thousands separators$/],
      ['number', [1234.5, 8], ["1'234.50", '8'], /^read without thousands separators$/],
      ['integer', [1234, 8], ['1 234', '8'], /^read without thousands separators$/],
      [
        'text',
        ['612 345 678', '613 345 678'],
        ['612 345 678', '613 345 678'],
        /^line 2 .*: if it is a number, use --type$/,
      ],
      ['text', ['020 123 456', '8'], ['020 123 456', '8']],
      ['text', ['12 34', '8'], ['12 34', '8']],
      ['number', [12.5, 3], ['12.5\u00a0%', '3\u00a0%'], /in percent/],
      ['text', ['$007', '$8'], ['$007', '$8'], /leading zeros would be lost/],
      ['text', ['\u00a0'].map(() => null), ['\u00a0'], /no cell has a value/],
      ['text', ['x', null, 'y'], ['x', '\u00a0', 'y']],
      [
        'text',
        ['USD', '1', '2', '3'],
        ['USD', '1', '2', '3'],
        /^line 2 has "USD", and the values below are of the type integer/,
      ],
      ['text', ['0,123', '0,456'], ['"0,123"', '"0,456"'], /a comma may mark thousands or decimals: see --decimal/],
    ];
    for (const [type, values, cells, why] of types) {
      it(`reads a column of ${JSON.stringify(cells)} as ${type}`, async () => {
        const { columns, rows } = await read(`id,v\n${cells.map((cell, i) => `${i},${cell}\n`).join('')}`, {
          key: ['id'],
        });
        expect(columns[1]).to.include({ type, guessed: true, empty: values.filter((each) => each === null).length });
        expect(rows.map(({ v }) => v)).to.deep.equal(values);
        if (why) expect(columns[1]!.why).to.match(why);
      });
    }

    it('finds cells of other types after 70,000 rows', async () => {
      const late: Record<string, readonly [usual: (i: number) => string, cell: string, type: string, why?: RegExp]> = {
        whole: [(i) => String(i % 10), '12345', 'integer'],
        fraction: [(i) => String(i % 10), '2.5', 'number'],
        text: [(i) => String(i), 'x', 'text', /^line 70002 has "x"/],
        zero: [(i) => (i % 2 === 0 ? '1.5' : '12.25'), '7.50', 'text', /zeros may matter: "7.50" in line 70002/],
        code: [(i) => String(i % 1000), '007', 'text', /^line 70002 has "007"/],
        day: [() => '2024-01-31', '2024-02-30', 'text', /^line 70002 has "2024-02-30"/],
        empty: [(i) => String(i), '', 'integer'],
        blank: [() => 'é', ' ', 'text'],
      };
      const given = Object.values(late);
      const lines = Array.from({ length: 70_000 }, (_, i) => [i, ...given.map(([usual]) => usual(i))].join());
      const last = [70_000, ...given.map(([, cell]) => cell)].join();
      const { columns, rows } = await read(`id,${Object.keys(late).join()}\n${[...lines, last].join('\n')}`);
      const types = Object.entries(late).map(([name, [, , type]]) => [name, type]);
      expect(columns.slice(1).map(({ name, type }) => [name, type])).to.deep.equal(types);
      for (const [i, [, , , why]] of given.entries()) if (why) expect(columns[i + 1]!.why).to.match(why);
      expect(columns.map(({ empty }) => empty)).to.deep.equal([0, 0, 0, 0, 0, 0, 0, 1, 1]);
      expect(rows.at(-1)).to.include({
        whole: 12345,
        fraction: 2.5,
        zero: '7.50',
        code: '007',
        empty: null,
        blank: null,
      });
    });

    it('reads the same values from cells with and without quotes', async () => {
      const numbers = ['0', '-0', '-0.0', '12.50', '-3.25', '0.000001', '-0.0000005', '0.0000010', '99999999999.125'];
      const texts = ['a', 'é', '日本', '😀', 'a\\b', 'a\tb', '\u00a0x', ' x', '~'];
      const table = (quoted: (cell: string) => string): string => {
        const lines = texts.map((text, i) => [i, quoted(text), quoted(numbers[i]!), quoted('2024-02-29')].join());
        return `id,text,number,day\n${lines.join('\n')}\n`;
      };
      const expected = texts.map((text, i) => ({ id: i, text, number: Number(numbers[i]) || 0, day: '2024-02-29' }));
      const types = new Map([['number', 'number']] as const);
      const plain = await read(
        table((cell) => cell),
        { types },
      );
      expect(plain.rows).to.deep.equal(expected);
      const quoted = await read(`${table((cell) => `"${cell}"`)}9,"a ""quote""",1.5,2024-02-29\n`, { types });
      expect(quoted.rows).to.deep.equal([...expected, { id: 9, text: 'a "quote"', number: 1.5, day: '2024-02-29' }]);
    });

    it('reads decimal commas where commas do not separate cells', async () => {
      const { rows, columns } = await read('a;b\nx;1,5\ny;1.234,25\n');
      expect(rows.map(({ b }) => b)).to.deep.equal([1.5, 1234.25]);
      expect(columns[1]!.why).to.match(/decimal commas/);
      expect((await read('a;b\nx;1,234\ny;2,345\n')).columns[1]).to.include({ type: 'text' });
      const given = await read('a;b\nx;1,234\ny;2,345\n', { decimal: 'comma' });
      expect(given.rows.map(({ b }) => b)).to.deep.equal([1.234, 2.345]);
      expect((await read('a;b\nx;1,5e-07\ny;2,5\n')).rows.map(({ b }) => b)).to.deep.equal([1.5e-7, 2.5]);
      expect((await read('a;b\nx;1234,12345678901234567\n')).columns[1]!.why).to.match(/would lose digits/);
    });

    it('reads decimal commas next to spaces, currency signs and percent signs', async () => {
      const { rows, columns } = await read('a;b;c\n1\u00a0234,567;12,5\u00a0%;1.234,50 €\n234,567;3 %;-2,00 €\n');
      expect(rows.map(({ a, b, c }) => [a, b, c])).to.deep.equal([
        [1234.567, 12.5, 1234.5],
        [234.567, 3, -2],
      ]);
      expect(columns.map(({ why }) => why)).to.deep.equal([
        'read without thousands separators, read with decimal commas',
        'in percent, read with decimal commas',
        'read without €, read with decimal commas',
      ]);
    });

    it('reads marked numbers of a column with a given type', async () => {
      const types = new Map([['v', 'number']] as const);
      const { rows } = await read('id,v\n1,$5\n2,(6)\n3,7\n', { types });
      expect(rows.map(({ v }) => v)).to.deep.equal([5, -6, 7]);
    });

    it('reports a last row that may contain sums', async () => {
      expect((await read('place,v\na,1\nb,2\nTotal,3\n')).notes).to.deep.equal([
        'line 4 begins with "Total": remove it if it sums the rows above',
      ]);
      expect((await read('place,v\nTotal,3\na,1\nb,2\n')).notes).to.deep.equal([]);
      expect((await read('place,v,w\na,1,2\nb,2,3\n"Source: X",,\n')).notes).to.deep.equal([
        'line 4 has only "Source: X": remove it if it is a note',
      ]);
    });

    it('keeps text in an ambiguous notation if another column has decimal commas', async () => {
      const points = await read('id;a;b\n1;1,5;1.234\n2;2,5;2.345\n');
      expect(points.rows.map(({ b }) => b)).to.deep.equal(['1.234', '2.345']);
      expect(points.columns[2]!.why).to.equal('a point may mark thousands or decimals: see --decimal');
      const given = await read('id;a;b\n1;1,5;1.234\n2;2,5;2.345\n', { decimal: 'comma' });
      expect(given.rows.map(({ b }) => b)).to.deep.equal([1234, 2345]);
      const mixed = await read('a;b\nx;1.234,5\ny;1234,5\n');
      expect(mixed.rows.map(({ b }) => b)).to.deep.equal([1234.5, 1234.5]);
      const exponents = await read('id;a;b\n1;1,5;1E-05\n2;2,5;3E-10\n');
      expect(exponents.rows.map(({ b }) => b)).to.deep.equal([1e-5, 3e-10]);
      const commas = await read('id,a,b\n1,"1,5","1,234"\n2,"2,5","2,345"\n');
      expect(commas.rows.map(({ a, b }) => [a, b])).to.deep.equal([
        ['1,5', '1,234'],
        ['2,5', '2,345'],
      ]);
    });

    it('names the option for numbers and dates in an ambiguous notation', async () => {
      const types = new Map<string, ColumnType>([
        ['b', 'number'],
        ['c', 'date'],
      ]);
      expect(await errorsOf('a;b;c\nx;1,234;01/02/2024\n', { types })).to.deep.equal([
        '"b" has an ambiguous notation: a comma may mark thousands or decimals: see --decimal',
        '"c" has an ambiguous notation: the order of day and month is not certain: see --date-order',
      ]);
    });

    it('compares trailing zeros in a column with more values than it remembers', async () => {
      const many = Array.from({ length: 30_000 }, (_, i) => `${i},${i}.25`).join('\n');
      expect((await read(`id,v\n${many}\n`)).columns[1]).to.include({ type: 'number' });
      const { type, why } = (await read(`id,v\n${many}\n30000,7.50\n30001,7.5\n`)).columns[1]!;
      expect([type, why]).to.deep.equal([
        'text',
        'the number of decimals varies, and trailing zeros may matter: "7.50" in line 30002',
      ]);
    });

    it('accepts types, texts for missing values, and the order of dates as options', async () => {
      const { rows } = await read('id,a,b,c,d\n01,1,yes,01/02/2024,x\n02,none at all,no,02/03/2024,y\n', {
        types: new Map([
          ['a', 'number'],
          ['b', 'boolean'],
          ['c', 'date'],
        ]),
        missing: ['none at all', 'y'],
        dateOrder: 'dmy',
      });
      expect(rows).to.deep.equal([
        { id: '01', a: 1, b: true, c: '2024-02-01', d: 'x' },
        { id: '02', a: null, b: false, c: '2024-03-02', d: null },
      ]);
    });
  });

  describe('CSV', () => {
    const plain = [
      { id: 1, name: 'Größe' },
      { id: 2, name: 'b, c' },
    ];
    const text = 'id,name\n1,Größe\n2,"b, c"\n';
    const utf16 = (bigEndian: boolean) => {
      const bytes = Buffer.from(`\ufeff${text}`, 'utf16le');
      return bigEndian ? bytes.swap16() : bytes;
    };
    for (const [what, content, found] of [
      ['UTF-8 with a byte order mark', `\ufeff${text}`, /UTF-8/],
      ['UTF-16, little-endian', utf16(false), /UTF-16LE/],
      ['UTF-16, big-endian', utf16(true), /UTF-16BE/],
      ['Windows-1252', Buffer.from(text, 'latin1'), /WINDOWS-1252/],
      ['gzip', gzipSync(text), /gzip/],
      ['CRLF', text.replaceAll('\n', '\r\n'), /commas/],
      ['CR', text.replaceAll('\n', '\r'), /line ends CR/],
      ['semicolons', 'id;name\n1;Größe\n2;b, c\n', /semicolons/],
      ['tabs', 'id\tname\n1\tGröße\n2\tb, c\n', /tabs/],
      ['pipes', 'id|name\n1|Größe\n2|b, c\n', /pipes/],
      ['carets', 'id^name\n1^Größe\n2^b, c\n', /"\^"/],
      ['a line that names the separator', 'sep=;\nid;name\n1;Größe\n2;b, c\n', /semicolons, columns named in line 2/],
      ['commas at the ends of lines', 'id,name,\n1,Größe,\n2,"b, c",\n', /commas/],
      ['commas at the ends of rows only', 'id,name\n1,Größe,\n2,"b, c",\n', /commas/],
      ['blank lines and rows of commas', 'id,name\n\n1,Größe\n ,\n2,"b, c"\n,\n', /commas/],
      ['a title and a note above the table', 'Things,\nas of 2024\n\nid,name\n1,Größe\n2,"b, c"\n', /named in line 4/],
      ['comments above the table', '# Things\n# as of 2024\nid,name\n1,Größe\n2,"b, c"\n', /named in line 3/],
      ['spaces after separators', 'id, name\n1, Größe\n2, "b, c"\n', /commas/],
      ['single quotes', "id,name\n1,'Größe'\n2,'b, c'\n3,'d'\n", /quoted by '/],
    ] as const) {
      it(`reads ${what}`, async () => {
        const { rows, found: read_ } = await read(content);
        expect(rows.slice(0, 2)).to.deep.equal(plain);
        expect(read_.join(', ')).to.match(found);
      });
    }

    it('reads tabs as separators if each line has one tab and one comma', async () => {
      const { rows } = await read('id\tname, first\n1\ta, b\n2\tc, d\n');
      expect(rows[0]).to.deep.equal({ id: 1, name_first: 'a, b' });
    });

    it('reports one column if spaces may separate columns', async () => {
      expect((await read('id  name\n1   a b\n2   c d\n')).found).to.include(
        'with one column; if spaces separate the columns, save the table as CSV',
      );
      expect((await read('name\na\nb\n')).found).to.deep.equal(['CSV in UTF-8']);
    });

    it('reads a header with quoted separators and line breaks', async () => {
      const { columns } = await read('"Name\n(local)";"Val;ue"\nA;1\nB;2\n');
      expect(columns.map(({ name }) => name)).to.deep.equal(['name_local', 'val_ue']);
    });

    it('numbers the columns of a table without headings', async () => {
      const { rows, found } = await read('5.1,3.5,setosa\n4.9,3.0,setosa\n6.3,3.3,virginica\n');
      expect(rows[0]).to.deep.equal({ row: 1, column_1: 5.1, column_2: 3.5, column_3: 'setosa' });
      expect(found).to.include('without a line of headings');
    });

    it('accepts years and column numbers as headings', async () => {
      expect((await read('name,2020,2021\na,1,2\nb,3,4\n')).columns.map(({ name }) => name)).to.deep.equal([
        'name',
        'c_2020',
        'c_2021',
      ]);
      expect((await read('0,1\n5,7\n6,8\n')).columns.map(({ heading }) => heading)).to.deep.equal(['0', '1']);
    });

    it('names the first column of a file from R, which has no heading for it', async () => {
      const { columns, rows } = await read('mpg,cyl\nMazda,21.5,6\nFiat,32.5,4\n');
      expect(columns.map(({ name }) => name)).to.deep.equal(['column_1', 'mpg', 'cyl']);
      expect(rows[0]).to.deep.equal({ column_1: 'Fiat', mpg: 32.5, cyl: 4 });
    });

    it('keeps values under their headings if only some rows have an extra cell', async () => {
      const { rows } = await read('id,a,b\n1,2\n2,3,4\n3,4,5,6\n');
      expect(rows).to.deep.equal([
        { id: 1, a: 2, b: null, column_4: null },
        { id: 2, a: 3, b: 4, column_4: null },
        { id: 3, a: 4, b: 5, column_4: 6 },
      ]);
    });

    it('ignores the Ctrl-Z at the end of files from DOS', async () => {
      expect((await read('id,v\n1,2\n\u001a')).rows).to.deep.equal([{ id: 1, v: 2 }]);
    });

    it('reports an encoding that is only a guess', async () => {
      const found = async (options?: Partial<TableOptions>) =>
        (await read(Buffer.from('id,name\n1,\xc3\xcf\n', 'latin1'), options)).found.join();
      expect(await found()).to.match(/WINDOWS-1252.*with a guessed encoding; if letters are wrong, use --encoding/);
      expect(await found({ encoding: 'windows-1251' })).not.to.include('guess');
    });

    it('fills short rows with null, and reports them and quotes inside cells', async () => {
      const { rows, notes } = await read('id,a,b\n1,5" pipe,x\n2\n');
      expect(rows).to.deep.equal([
        { id: 1, a: '5" pipe', b: 'x' },
        { id: 2, a: null, b: null },
      ]);
      expect(notes.join('; ')).to.match(/1 row has quotes inside cells.* line 2; 1 row has fewer cells .* line 3/);
    });

    it('keeps text unchanged', async () => {
      const { rows } = await read('id,v\n1, a \n2,"line\nbreak \\ 😀"\n');
      expect(rows.map(({ v }) => v)).to.deep.equal([' a ', 'line\nbreak \\ 😀']);
    });

    it('prefers options to the recognized properties', async () => {
      const quoted = await read('id;v\n1;"x\n2;y"\n', { quote: 'none', separator: ';' });
      expect(quoted.rows.map(({ v }) => v)).to.deep.equal(['"x', 'y"']);
      expect((await read('a,b\nid,v\n1,2\n', { header: 2 })).columns.map(({ name }) => name)).to.deep.equal([
        'id',
        'v',
      ]);
      expect((await read('a,b\nc,d\n', { header: 'none' })).rows).to.have.length(2);
      const japanese = Buffer.from([0x69, 0x64, 0x0a, 0x93, 0x8c, 0x8b, 0x9e, 0x0a]);
      expect((await read(japanese, { encoding: 'shift_jis' })).rows).to.deep.equal([{ id: '東京' }]);
    });

    it('recognizes quotes that are escaped by backslashes, except at the end of a path', async () => {
      const { rows, found } = await read('name, n\n"Eddie", 1\n"H. \\"Barney\\" Ewell, jr.", 2\n');
      expect(rows.map(({ name }) => name)).to.deep.equal(['Eddie', 'H. "Barney" Ewell, jr.']);
      expect(found).to.include('with quotes escaped by backslashes');
      const paths = await read('id,path\n1,"C:\\dir\\"\n2,"D:\\x\\"\n');
      expect(paths.rows.map(({ path }) => path)).to.deep.equal(['C:\\dir\\', 'D:\\x\\']);
      expect(paths.found).not.to.include('with quotes escaped by backslashes');
      const tabs = await read('path\tn\n"C:\\dir\\"\t1\n"D:\\x"\t2\n');
      expect(tabs.rows).to.deep.equal([
        { path: 'C:\\dir\\', n: 1 },
        { path: 'D:\\x', n: 2 },
      ]);
    });

    it('keeps nearly empty rows below headings with an unnamed index', async () => {
      const { rows } = await read(',a,b,c\n0,1,,\n1,,,\n2,1,2,3\n');
      expect(rows.map(({ column_1: index, a }) => [index, a])).to.deep.equal([
        [0, 1],
        [1, null],
        [2, 1],
      ]);
    });

    it('skips titles of two cells above headings of three', async () => {
      const { rows } = await read('Source,Survey,\nUpdated,2025-01-28,\n\nName,Code,2023\nAruba,ABW,106.3\n');
      expect(rows).to.deep.equal([{ name: 'Aruba', code: 'ABW', c_2023: 106.3 }]);
    });

    it('reads CR as the line end if quoted cells contain LF', async () => {
      const { rows, found } = await read('id,v\r1,"x\ny"\r2,z\r');
      expect(rows).to.deep.equal([
        { id: 1, v: 'x\ny' },
        { id: 2, v: 'z' },
      ]);
      expect(found).to.include('with line ends CR');
    });

    it('reads quotes after spaces, even around separators', async () => {
      const { rows } = await read('id, name, n\n1, "Smith,John", 3\n2, Doe, 4\n');
      expect(rows.map(({ name, n }) => [name, n])).to.deep.equal([
        ['Smith,John', 3],
        ['Doe', 4],
      ]);
    });

    it('chooses a separator that does not cut through quotes, and no colons of times', async () => {
      const pipes = await read('# a\n# b\n"Total, all"|"n"\n"x"|1,5\n"y"|2,5\n"z"|3,5\n');
      expect(pipes.rows[0]).to.deep.equal({ total_all: 'x', n: 1.5 });
      const times = await read('5,2024-01-31 12:30:00\n7,2024-01-31 13:30:00\n2,2024-01-31 14:00:00\n');
      expect(times.rows[0]).to.deep.equal({ column_1: 2, column_2: '2024-01-31 14:00:00' });
    });

    it('treats quotes as text if tabs separate the cells and a quote is not closed', async () => {
      const { rows, found } = await read('id\tv\n1\t"x\n2\ty\n');
      expect(rows.map(({ v }) => v)).to.deep.equal(['"x', 'y']);
      expect(found).to.include('without quotes');
    });

    it('keeps zero bytes and reports them, except in a row of zero bytes', async () => {
      const { rows, notes } = await read('id,v\n1,a\0b\n2,c\n\0\0\0\0');
      expect(rows.map(({ v }) => v)).to.deep.equal(['a\0b', 'c']);
      expect(notes).to.deep.equal(['1 row has zero bytes, which are kept, first in line 2']);
      const packedTwice = gzipSync(gzipSync('id,v\n1,2\n'));
      expect(await errorsOf(packedTwice)).to.deep.equal([
        'it is not text: it contains zero bytes; unpack it, or set its encoding with --encoding',
      ]);
    });

    it('reads 5,000 columns', async () => {
      const line = (cell: (i: number) => string) => Array.from({ length: 5000 }, (_, i) => cell(i)).join();
      const { columns, rows } = await read(`id,${line((i) => `c${i}`)}\n1,${line(String)}\n`, { key: ['id'] });
      expect(columns).to.have.length(5001);
      expect(rows[0]).to.include({ id: 1, c4999: 4999 });
    });
  });

  describe('JSON', () => {
    const rows = [
      { id: 'a', n: 1, deep: null },
      { id: 'b', n: null, deep: '{"x":[1]}' },
    ];
    for (const [what, content] of [
      ['an array of objects', '[{"id":"a","n":1},\n {"id":"b","deep":{"x":[1]}}]'],
      ['one object per line', '{"id":"a","n":1}\n{"id":"b","deep":{"x":[1]}}\n'],
    ] as const) {
      it(`reads ${what}`, async () => {
        const { collection, ...found } = await read(content);
        expect(found.rows).to.deep.equal(rows);
        expect(found.found).to.deep.equal(['JSON in UTF-8']);
      });
    }

    it('keeps strings as text, and digits that a number would lose', async () => {
      const { columns, rows: read_ } = await read('[{"zip":"123","big":12345678901234567890,"day":"2024-01-31"}]');
      expect(columns.map(({ type }) => type)).to.deep.equal(['text', 'text', 'date']);
      expect(read_[0]).to.deep.equal({ zip: '123', big: '12345678901234567890', day: '2024-01-31' });
    });

    it('keeps numbers that are too large or too small, even next to very long text', async () => {
      const long = 'x'.repeat(15_000_000);
      const { rows: read_ } = await read(
        `[{"id":1,"v":1e400,"w":1.5e+100,"t":"${long}"},{"id":2,"v":1e-400,"w":12345678901234567890}]`,
      );
      expect(read_.map(({ v, w }) => [v, w])).to.deep.equal([
        ['1e400', '1.5e+100'],
        ['1e-400', '12345678901234567890'],
      ]);
    });

    it('reads the NaN and Infinity of Python', async () => {
      const { columns, rows: read_ } = await read('[{"id":1,"v":NaN,"w":-Infinity,"t":"NaN"},{"id":2,"v":0.5,"w":1}]');
      expect(read_).to.deep.equal([
        { id: 1, v: null, w: '-Infinity', t: 'NaN' },
        { id: 2, v: 0.5, w: '1', t: null },
      ]);
      expect(columns[1]).to.deep.include({ type: 'number', missing: { NaN: 1 } });
    });

    it('reads the table that pandas writes by default', async () => {
      expect((await read('{"a":{"0":1,"1":2},"b":{"0":"x","1":null}}')).rows).to.deep.equal([
        { a: 1, b: 'x' },
        { a: 2, b: null },
      ]);
      expect((await read('{"a":{"3":1,"5":2},"b":{"3":"x","5":"y"}}')).rows).to.deep.equal([
        { index: 3, a: 1, b: 'x' },
        { index: 5, a: 2, b: 'y' },
      ]);
    });

    it('rejects other JSON with the line of the error', async () => {
      expect(await errorsOf(`[{"a":1},\n{"a":${'['.repeat(5000)}${']'.repeat(5000)}}]`)).to.deep.equal([
        'line 2: an object has more than 1000 levels',
      ]);
      expect(await errorsOf('[{"a":1},\n 5]')).to.deep.equal([
        'line 2: must be an object; a table is an array of objects, or one object per line',
      ]);
      expect((await errorsOf('{"a":1}\n{"a":}\n'))[0]).to.match(/^line 2: is not JSON/);
      for (const cut of ['[{"a":1},\n{"b":2', '[{"a":1},\n', '[{"a":1}\n'])
        expect((await errorsOf(cut)).join()).to.match(/^line \d: .* it was cut short/);
      for (const array of ['[[1,2],[3,4]]', '["a","b"]'])
        expect((await errorsOf(array)).join()).to.match(/^line 1: must be an object; a table is an array of objects/);
    });
  });

  describe('keys', () => {
    for (const [what, text, ...key] of [
      ['the first column if it is unique', 'name,n\nb,1\na,2\n', 'name'],
      ['a unique column that is named like a key', 'name,code\na,x\nb,y\n', 'code'],
      ['two columns that are unique together', 'city,month,v\na,1,0.5\na,2,0.5\nb,1,0.5\n', 'city', 'month'],
      ['three columns', 'a,b,c\nx,x,x\nx,x,y\nx,y,x\ny,x,x\nx,y,y\n', 'a', 'b', 'c'],
      ['a code with a year and a quarter', 'code,yr,qtr,v\n1,1,1,5\n1,1,2,5\n1,2,1,5\n2,1,1,5\n', 'code', 'yr', 'qtr'],
      ['the number of the row if no columns are unique', 'a,b\nx,0.5\nx,0.5\n', 'row'],
      ['no column with an empty cell', 'a,b\nx,0.5\n,0.5\n', 'row'],
      ['no measurements', 'v,w\n1.5,2.5\n2.5,1.5\n', 'row'],
    ] as const) {
      it(`are ${what}`, async () => expect((await read(text)).key).to.deep.equal(key));
    }

    it('number the rows in the order of the file, with a name that no column has', async () => {
      const { rows, key } = await read('row,v\nx,0.5\nx,0.7\n');
      expect(key).to.deep.equal(['row_number']);
      expect(rows.map(({ row_number, v }) => [row_number, v])).to.deep.equal([
        [1, 0.5],
        [2, 0.7],
      ]);
    });

    it('sort the rows by the type of their columns', async () => {
      const text = (count: number) =>
        `id,v\n${Array.from({ length: count }, (_, i) => `${(i * 7919) % count},x${i}\n`).join('')}`;
      for (const count of [101, 20_011]) {
        const { rows } = await read(text(count), { key: ['id'] });
        expect(rows.length).to.equal(count);
        expect(rows.every(({ id, v }, i) => id === i && (Number(String(v).slice(1)) * 7919) % count === i)).to.equal(
          true,
        );
      }
      const { rows } = await read('id\n10\n9\n', { types: new Map([['id', 'text']]) });
      expect(rows.map(({ id }) => id)).to.deep.equal(['10', '9']);
    });
  });

  describe('names', () => {
    it('are ASCII in snake case, with numbers where they collide, and keep the heading as title', async () => {
      const { columns, collection } = await read(
        'ID,Größe (cm),Grüße (cm),CO₂,CO²,% change,$ change,change,2024,Größe (cm),\n1,1,1,1,1,1,1,1,1,1,1\n',
      );
      expect(columns.map(({ name }) => name)).to.deep.equal([
        'id',
        'grosse_cm',
        'grusse_cm',
        'co2',
        'co2_2',
        'percent_change',
        'change_2',
        'change',
        'c_2024',
        'grosse_cm_2',
        'column_11',
      ]);
      expect(columns[4]!.note).to.equal('another column is called "co2"');
      const { grosse_cm } = collection.schema['properties'] as Record<string, { title?: string }>;
      expect(grosse_cm?.title).to.equal('Größe (cm)');
    });

    it('are set by heading', async () => {
      const { columns, key } = await read('Größe (cm),都市\n1,a\n', {
        names: new Map([['Größe (cm)', 'size_cm']]),
        key: ['都市'],
      });
      expect(columns.map(({ name }) => name)).to.deep.equal(['size_cm', 'doushi']);
      expect(key).to.deep.equal(['doushi']);
    });
  });

  describe('orders', () => {
    it('declares the columns to search, which must contain text', async () => {
      const text = 'id,note,size\n1,red whale,2\n2,blue,3\n';
      expect((await read(text, { search: ['note'] })).collection.search).to.deep.equal(['note']);
      const error = await read(text, { search: ['size'] }).catch((thrown: Error) => thrown);
      expect(String(error)).to.include('"size" has no text to search; --type size=text makes it text');
    });
    it('are declared for each column to sort by', async () => {
      const { collection } = await read('id,year\n10,1\n9,2\n', { sort: ['year'] });
      expect(collection.orders).to.deep.equal([['year', 'id']]);
    });
  });

  for (const [what, content, options, ...errors] of [
    ['the same key twice', 'id,v\n1,a\n2,b\n1,c\n', { key: ['id'] }, 'line 4: has the same key as line 2: id 1'],
    [
      'an empty key',
      'id,v\n1,a\n,b\n',
      { key: ['id'] },
      '"id" is empty in 1 row: a key needs a value in every row; name other columns with --key, or skip such rows with --skip-bad-rows',
    ],
    [
      'an empty cell in a sort column',
      'id,v\n1,\n2,3\n',
      { sort: ['v'] },
      '"v" is empty in 1 row: a column to sort by needs a value in every row; leave it out of --sort, or skip such rows with --skip-bad-rows',
    ],
    [
      'a cell that does not match the given type',
      'id,v\n1,x\n',
      { types: new Map([['v', 'number']]) },
      '"v" must be a number like 12.5, but line 2 has "x"; --skip-bad-rows skips such rows',
    ],
    ['an unknown column', 'id,v\n1,x\n', { key: ['idd'] }, 'there is no column "idd"; did you mean "id"?'],
    [
      'the default name of a column that --name renames',
      '1,2\n3,4\n',
      { header: 'none', names: new Map([['column_1', 'id']]), key: ['column_1'] },
      'the column "column_1" is called "id" (--name)',
    ],
    [
      'a row with more cells than columns',
      'id,v\n1,x\n2,y\n3,z\n4,a,b\n',
      {},
      'line 5: has 3 cells, but the table has 2 columns',
      '--skip-bad-rows skips such rows; --separator and --quote override wrong guesses',
    ],
    [
      'a quote that is not closed',
      'id,v\n1,"x\n',
      {},
      'line 2: has a quote that is not closed',
      'add the quote, or use --quote none if quotes belong to the text',
    ],
    ['nothing', '', {}, 'it is empty: it has no columns'],
    [
      'headings without rows',
      'id,name\n',
      {},
      'it has headings but no rows: "id", "name"',
      'add a row, or use --header none if these cells are a row',
    ],
    ['200,000 columns', `id${',c'.repeat(200_000)}\n1\n`, {}, 'it has 200,001 columns; a table has at most 20,000'],
    ['a web page', '<!DOCTYPE html><html></html>', {}, 'it is a web page or an XML file, not a table'],
    [
      'an old workbook',
      Buffer.from('d0cf11e0a1b11ae1', 'hex'),
      {},
      'it is an old Excel workbook; save it as .xlsx or CSV',
    ],
    [
      'a Git LFS pointer',
      'version https://git-lfs.github.com/spec/v1\noid sha256:0a\nsize 1\n',
      {},
      'it is a Git LFS pointer; run "git lfs pull" to get the table',
    ],
    [
      'damaged gzip',
      gzipSync('id\n1\n'.repeat(1000)).subarray(0, 20),
      {},
      'its compressed data is damaged or cut short; download or copy it again',
    ],
    [
      'a character that was cut',
      Buffer.from('id,name\n1,ö').subarray(0, -1),
      {},
      'it ends within a UTF-8 character: it was cut short',
    ],
  ] as readonly (readonly [string, Content, Partial<TableOptions>, ...string[]])[]) {
    it(`rejects ${what}`, async () => expect(await errorsOf(content, options)).to.deep.equal(errors));
  }

  it('keeps a sample that fits if the rows after it are not in key order', async () => {
    const path = join(folder, 'sampled');
    await writeFile(path, `id\n${Array.from({ length: 60_000 }, (_, i) => `${i + 1}\n`).join('')}0\n`);
    const [types, names] = [new Map(), new Map()];
    const options = { file: 'a.csv', name: 'things', sort: [], search: [], types, names, missing: [] };
    const table = await readTable(path, options);
    const count = async (sortFolder: string | undefined): Promise<number> => {
      let rows = 0;
      for await (const batch of table.rows(table.keys[0]!, sortFolder)) rows += batch.ends.length;
      return rows;
    };
    expect(await count(undefined).catch((error: unknown) => error)).to.be.instanceOf(OutOfOrder);
    expect([await count(folder), table.rowCount]).to.deep.equal([60_001, 60_001]);
  });

  it('skips and reports bad rows with skipBadRows', async () => {
    const { rows, notes } = await read('id,v\n1,x\n2,y\n3,z\n4,a,b\n', { skipBadRows: true });
    expect(rows).to.have.length(3);
    expect(notes).to.deep.equal(['1 bad row was skipped: line 5: has 3 cells, but the table has 2 columns']);
  });

  it('leaves out rows whose cell does not have the given type, or whose key or sort column is empty', async () => {
    const content = 'country,year,v\nA,2000,1\n,2001,2\nB,n/a,3\nC,2002,\nTotal,x,9\nSource: me\nD,2003,4\n';
    const options = { key: ['country', 'year'], sort: ['v'], types: new Map([['year', 'integer']] as const) };
    const { rows, notes, columns } = await read(content, { ...options, skipBadRows: true });
    expect(rows).to.deep.equal([
      { country: 'A', year: 2000, v: 1 },
      { country: 'D', year: 2003, v: 4 },
    ]);
    expect(columns.map(({ type, empty }) => [type, empty])).to.deep.equal([
      ['text', 0],
      ['integer', 0],
      ['integer', 0],
    ]);
    expect(notes).to.deep.equal([
      '5 bad rows were skipped: line 3: "country" is empty; line 4: "year" is empty; line 5: "v" is empty; ' +
        'line 6: "year" must be a whole number, not "x"; line 7: "year" is empty',
    ]);
    const many = `${content}${'E,x,1\n'.repeat(5000)}`;
    const [note] = (await read(many, { ...options, skipBadRows: true })).notes;
    expect(note).to.match(/^5,005 bad rows were skipped: .*; and 4,985 more$/);
  });

  it('leaves out the rows that lack a value in one line of JSON objects', async () => {
    const { rows } = await read('[{"id":1,"v":"a"},{"id":"x","v":"b"},{"id":null,"v":"c"},{"id":2,"v":"d"}]', {
      types: new Map([['id', 'integer']]),
      key: ['id'],
      skipBadRows: true,
    });
    expect(rows.map(({ v }) => v)).to.deep.equal(['a', 'd']);
  });

  it('names the type of a column whose markers make its rows bad', async () => {
    const content = 'id,v\n1,a\nNA,b\n3,c\n';
    const options = { key: ['id'], skipBadRows: true };
    expect((await errorsOf(content, options)).join()).to.include('--type id=integer with --skip-bad-rows');
    expect((await read(content, { ...options, types: new Map([['id', 'integer']]) })).rows).to.have.length(2);
  });

  it('reads a column whose cells all end in .0 as integers, which can be part of a key', async () => {
    const content = 'country,year,v\nA,1950.0,1.0\nA,1951.0,2.5\nB,1950.0,\nB,1951.0,1.0\n';
    const { key, columns, rows } = await read(content);
    expect(key).to.deep.equal(['country', 'year']);
    expect(columns.map(({ type }) => type)).to.deep.equal(['text', 'integer', 'number']);
    expect(rows[0]).to.deep.equal({ country: 'A', year: 1950, v: 1 });
    const mixed = 'country,year\nA,1950\nA,1951.0\n';
    expect((await read(mixed)).columns[1]!.type).to.not.equal('integer');
    expect((await read(mixed, { types: new Map([['year', 'integer']]) })).rows[1]).to.deep.equal({
      country: 'A',
      year: 1951,
    });
    const codes = await read('id,code\n1,01.0\n2,02.0\n');
    expect(codes.columns[1]!.type).to.equal('text');
  });

  it('reads one object of arrays of equal length as columns', async () => {
    const { rows } = await read('{"lat":[1.5,2.5],\n"name":["a",null]}');
    expect(rows).to.deep.equal([
      { row: 1, lat: 1.5, name: 'a' },
      { row: 2, lat: 2.5, name: null },
    ]);
    const unequal = 'it is one object, and its field "b" is an array; a table is an array of objects';
    for (const content of ['{"a":[1],"b":[1,2]}', '{"a":"x","b":[{"id":1},{"id":2}]}'])
      expect((await errorsOf(content)).join()).to.include(unequal);
    expect((await read('{"id":1,"tags":["x"]}\n{"id":2,"tags":["y","z"]}')).rows).to.have.length(2);
    expect((await read('{"a":[1,2]}\n{"a":[3,4]}')).rows).to.have.length(2);
    const advice = /extract the array, such as with jq '.features'/;
    expect((await errorsOf('{"type":"X","features":[{"id":1}]}')).join()).to.match(advice);
  });

  it('reads the array of objects in an object without other fields, such as a response of this API', async () => {
    expect((await read('{"data":[{"id":1,"v":"x"},{"id":2,"v":"y"}]}')).rows).to.deep.equal([
      { id: 1, v: 'x' },
      { id: 2, v: 'y' },
    ]);
  });

  it('reads a first line of dates as a row, and reports headings without letters', async () => {
    const dates = await read('2024-01-01,5\n2024-01-02,6\n2024-01-03,7\n');
    expect(dates.rows).to.have.length(3);
    expect(dates.found).to.include('without a line of headings');
    const note = 'line 1 was read as the headings; if it is a row, use --header none';
    const numbers = '1,2\n3,4\n5,6\n';
    expect((await read(numbers)).found).to.include(note);
    expect((await read(numbers, { header: 1 })).found).to.not.include(note);
    expect((await read('id,v\n1,2\n3,4\n')).found).to.not.include(note);
  });
});
