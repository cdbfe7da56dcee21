import { expect } from 'chai';
import fc from 'fast-check';
import { dataRoute, type Route } from '../../../core/contracts/plugin.js';
import { lazyRows } from '../../../core/data/lazy-rows.js';
import { listColumns, typedColumns } from '../../../core/registry/route-defaults.js';
import { csvFormat } from '../../../core/response/csv-format.js';
import { jsonFormat, ndjsonFormat } from '../../../core/response/formats.js';
import { parseCsv } from '../../support/csv-parser.js';
import { writtenList } from '../../support/written-list.js';

const object = (properties: object) => ({ type: 'object', properties });
const list = (items: object) => object({ data: { type: 'array', items } });
const things = (schema: object, more: Partial<Route> = {}): Route =>
  dataRoute({
    path: '/things',
    operationId: 'listThings',
    summary: 'Things',
    response: { description: 'Things.', schema: schema as Record<string, unknown>, example: { data: [] } },
    handler: async () => ({ data: [] }),
    ...(more as object),
  });

describe('rows with additional properties', () => {
  const rows = [{ a: 1, b: null, c: 'x' }, { c: 'y' }];
  for (const [format, written] of [
    [jsonFormat, '{"data":[{"a":1,"b":null,"c":"x"},{"c":"y"}]}'],
    [ndjsonFormat, '{"a":1,"b":null,"c":"x"}\n{"c":"y"}\n'],
    [csvFormat(true), 'c,a\r\nx,1\r\ny,\r\n'],
  ] as const) {
    it(`have the same text in ${format.name}, in any batches`, async () => {
      for (const batches of [[rows], rows.map((row) => [row])]) {
        expect(String(await writtenList(format, ['c', 'a'], ...batches))).to.equal(written);
      }
    });
  }
});

describe('numbers that JSON cannot represent', () => {
  for (const format of [jsonFormat, ndjsonFormat, csvFormat(true)]) {
    it(`are an error in ${format.name} that names their place`, async () => {
      const error = await writtenList(format, ['a'], [{ a: [Number.NaN] }]).catch((error: unknown) => error);
      expect((error as Error).message).to.match(/NaN at (\/0)?\/a\/0/);
    });
  }
});

describe('listColumns', () => {
  it('are the properties of the rows, in order', () => {
    expect(listColumns(things(list(object({ b: {}, a: {} }))))).to.deep.equal(['b', 'a']);
  });
  for (const [what, schema] of [
    ['one object', object({ data: object({ a: {} }) })],
    ['an object or null', object({ data: { anyOf: [object({ a: {} }), { type: 'null' }] } })],
    ['a list of texts', list({ type: 'string' })],
    ['rows that may be null', list({ type: ['object', 'null'], properties: { a: {} } })],
    ['rows of unknown properties', list({ type: 'object' })],
    ['a list next to another property', object({ data: { type: 'array', items: object({ a: {} }) }, next: {} })],
    ['no known shape', {}],
  ] as const) {
    it(`are undefined for ${what}`, () => expect(listColumns(things(schema))).to.equal(undefined));
  }
  it('are undefined for service routes', () => {
    expect(listColumns({ ...things(list(object({ a: {} }))), kind: 'service' } as Route)).to.equal(undefined);
  });
});

describe('typedColumns', () => {
  const declared = (properties: object) =>
    typedColumns(things(list({ ...object(properties), required: Object.keys(properties) })));

  it('have the types of the schema, and are optional where null or absence is allowed', () => {
    const columns = declared({ a: { type: 'string', format: 'date' }, b: { type: ['number', 'null'] } });
    expect(columns).to.deep.equal([
      { name: 'a', type: 'date', optional: false },
      { name: 'b', type: 'number', optional: true },
    ]);
    const lacking = things(list(object({ a: { type: 'string', format: 'email' } })));
    expect(typedColumns(lacking)).to.deep.equal([{ name: 'a', type: 'string', optional: true }]);
  });
  for (const [schema, optional] of [
    [{}, true],
    [{ type: 'array' }, false],
    [{ type: 'object' }, false],
    [{ type: ['object', 'null'] }, true],
    [{ type: ['string', 'number'] }, false],
    [{ type: 'null' }, true],
  ] as const) {
    it(`are JSON for ${JSON.stringify(schema)}`, () =>
      expect(declared({ a: schema })).to.deep.equal([{ name: 'a', type: 'json', optional }]));
  }
});

describe('csvFormat', () => {
  const write = async (columns: string[], rows: object[], guard = true) =>
    String(await writtenList(csvFormat(guard), columns, rows));

  it('writes a header, and CRLF after each record, including the last', async () => {
    expect(await write(['a', 'b'], [{ a: 1, b: 'x' }])).to.equal('a,b\r\n1,x\r\n');
  });
  it('writes only the header if there are no rows', async () =>
    expect(await write(['a', 'b'], [])).to.equal('a,b\r\n'));
  it('quotes separators, quotes and line ends, and nothing else', async () => {
    const texts = ['a,b', 'say "hi"', 'two\r\nlines', 'x\ny', ' padded ', "it's"];
    const cells = await Promise.all(texts.map(async (a) => (await write(['a'], [{ a }])).slice(3, -2)));
    expect(cells).to.deep.equal(['"a,b"', '"say ""hi"""', '"two\r\nlines"', '"x\ny"', ' padded ', "it's"]);
  });
  it('distinguishes null and absent values from empty strings', async () => {
    expect(await write(['a', 'b', 'c'], [{ a: null, c: '' }])).to.equal('a,b,c\r\n,,""\r\n');
  });
  it('never writes an empty line, which readers would skip', async () => {
    expect(await write(['a'], [{ a: null }, {}])).to.equal('a\r\n""\r\n""\r\n');
  });
  it('prints numbers and booleans as JSON does', async () => {
    const values = [0.1, -0, -1.5e-7, 1e21, 123456789.123, true, false];
    const columns = values.map((_, i) => `c${i}`);
    const row = Object.fromEntries(values.map((value, i) => [`c${i}`, value]));
    expect((await write(columns, [row])).split('\r\n')[1]).to.equal('0.1,0,-1.5e-7,1e+21,123456789.123,true,false');
  });
  it('rejects numbers that JSON cannot represent, even inside a cell', async () => {
    const errorOf = async (a: unknown) => String(await write(['a'], [{ a }]).catch((error: unknown) => error));
    expect(await errorOf(Number.NaN)).to.contain('NaN at /a');
    expect(await errorOf([1, Number.POSITIVE_INFINITY])).to.contain('Infinity at /a/1');
  });
  it('writes objects and arrays as JSON, and dates as in JSON', async () => {
    const row = { a: ['x', 1], b: { c: null }, d: new Date(0) };
    expect(await write(['a', 'b', 'd'], [row])).to.equal(
      'a,b,d\r\n"[""x"",1]","{""c"":null}",1970-01-01T00:00:00.000Z\r\n',
    );
  });
  it('leaves out inherited properties', async () => {
    expect(await write(['constructor', 'a'], [{ a: 1 }])).to.equal('constructor,a\r\n,1\r\n');
  });

  for (const formula of ['=1+1', '+1', '-1', '@SUM(A1)', '\t=1', '\r=1', '\n=1', '＝1', '＋1', '－1', '＠x']) {
    it(`puts an apostrophe before the text ${JSON.stringify(formula)}`, async () => {
      expect(parseCsv(await write(['a'], [{ a: formula }]))[1]).to.deep.equal([`'${formula}`]);
      expect(parseCsv(await write(['a'], [{ a: formula }], false))[1]).to.deep.equal([formula]);
    });
  }
  it('puts no apostrophe before numbers, but puts one before a column name that is a formula', async () => {
    expect(await write(['=a', 'b'], [{ '=a': -1, b: 'a=b' }])).to.equal("'=a,b\r\n-1,a=b\r\n");
  });

  const value = fc.oneof(
    fc.string({ unit: 'grapheme' }),
    fc.string({ unit: fc.constantFrom('"', ',', '\r', '\n', "'", '=', '-', ' ', 'é', '🏠') }),
    fc.double({ noNaN: true, noDefaultInfinity: true }),
    fc.integer(),
    fc.boolean(),
    fc.constant(null),
    fc.array(fc.oneof(fc.integer(), fc.string({ unit: 'grapheme' })), { maxLength: 3 }),
  );
  const table = fc.integer({ min: 1, max: 5 }).chain((width) => {
    const columns = Array.from({ length: width }, (_, i) => `c${i}`);
    return fc.array(fc.tuple(...columns.map(() => value))).map((rows) => ({
      columns,
      rows: rows.map((cells) => Object.fromEntries(columns.map((column, i) => [column, cells[i]]))),
    }));
  });

  it('writes the same bytes for rows that are stored as text, however their values are written', async () => {
    const digits = fc.string({ unit: fc.constantFrom('0', '1', '9'), minLength: 1, maxLength: 18 });
    const number = fc
      .tuple(
        fc.constantFrom('', '-'),
        fc.bigInt({ min: 0n, max: 10n ** 17n }),
        fc.option(digits),
        fc.constantFrom('', 'e-7', 'E2'),
      )
      .map(
        ([sign, whole, decimals, exponent]) => `${sign}${whole}${decimals === null ? '' : `.${decimals}`}${exponent}`,
      );
    const written = fc.oneof(
      fc
        .oneof(value, fc.string({ unit: fc.constantFrom('a', '1', '=', "'", ',', '"', '\\', '\n', '＝', 'é') }))
        .map((each) => JSON.stringify(each)),
      number,
      fc.constantFrom('"\\u0041"', '"a\\u002cb"', '{"a": [1.0]}', '0.0000010', '0.00000099', '-0.0', '0', '-0'),
    );
    const row = fc.dictionary(fc.constantFrom('a', 'b', 'c', 'x'), written).map(
      (cells) =>
        `{${Object.entries(cells)
          .map(([name, text]) => `"${name}":${text}`)
          .join()}}`,
    );
    await fc.assert(
      fc.asyncProperty(
        fc.array(row, { minLength: 1 }),
        fc.subarray(['a', 'b', 'c'], { minLength: 1 }),
        fc.boolean(),
        async (rows, columns, guard) => {
          let end = -1;
          const ends = rows.map((text) => (end += 1 + Buffer.byteLength(text)));
          const stored = lazyRows({ json: Buffer.from(rows.join()), ends });
          const parsed = rows.map((text) => JSON.parse(text) as object);
          const format = csvFormat(guard);
          expect(String(await writtenList(format, columns, stored))).to.equal(
            String(await writtenList(format, columns, parsed)),
          );
        },
      ),
      { numRuns: 500 },
    );
  });

  it('is lossless: each parsed cell equals the JSON value', async () => {
    await fc.assert(
      fc.asyncProperty(table, fc.boolean(), async ({ columns, rows }, guard) => {
        const [header, ...records] = parseCsv(await write(columns, rows, guard));
        expect(header).to.deep.equal(columns);
        expect(records).to.have.length(rows.length);
        const kept = JSON.parse(JSON.stringify(rows)) as Record<string, unknown>[];
        for (const [at, record] of records.entries()) {
          const values = record.map((cell, i) => {
            const expected = kept[at]![columns[i]!];
            if (typeof expected === 'string') return guard ? cell.replace(/^'('*[=+\-@\t\r\n＝＋－＠])/u, '$1') : cell;
            return cell === '' ? null : JSON.parse(cell);
          });
          expect(values).to.deep.equal(columns.map((column) => kept[at]![column]));
        }
      }),
    );
  });
});
