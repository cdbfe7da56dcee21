/** Tests lists as Parquet, with arbitrary columns and batches. */
import { expect } from 'chai';
import fc from 'fast-check';
import type { TypedColumn } from '../../../core/registry/route-defaults.js';
import { parquetFormat } from '../../../core/response/parquet-format.js';
import { readParquet } from '../../support/parquet-reader.js';

const day = fc
  .date({ min: new Date('0001-01-01'), max: new Date('9999-12-31'), noInvalidDate: true })
  .map((date) => date.toISOString());
const values: Readonly<Record<TypedColumn['type'], fc.Arbitrary<unknown>>> = {
  string: fc.string({ unit: 'grapheme' }),
  date: day.map((text) => text.slice(0, 10)),
  'date-time': day,
  integer: fc.maxSafeInteger(),
  number: fc.double({ noNaN: true, noDefaultInfinity: true }),
  boolean: fc.boolean(),
  json: fc.array(fc.oneof(fc.string(), fc.integer(), fc.constant(null))),
};
const TYPES = Object.keys(values) as TypedColumn['type'][];
const some = (type: TypedColumn['type'], optional = false): TypedColumn => ({ name: 'a', type, optional });

const table = fc
  .array(fc.record({ type: fc.constantFrom(...TYPES), optional: fc.boolean() }), { minLength: 1, maxLength: 7 })
  .chain((types) => {
    const columns = types.map((column, i): TypedColumn => ({ name: `c${i}`, ...column }));
    const cells = columns.map(({ type, optional }) =>
      optional ? fc.option(values[type], { nil: undefined }) : values[type],
    );
    const row = fc
      .tuple(fc.boolean(), ...cells)
      .map(([asNull, ...given]) =>
        Object.fromEntries(columns.map(({ name }, i) => [name, given[i] ?? (asNull ? null : undefined)])),
      );
    return fc.array(fc.array(row, { minLength: 1, maxLength: 40 }), { maxLength: 4 }).map((batches) => ({
      columns,
      batches,
    }));
  });

/** Returns the values as they are in JSON, but with null for absent values, and with arrays as text. */
const inJson = (columns: readonly TypedColumn[], rows: readonly object[]) =>
  (JSON.parse(JSON.stringify(rows)) as Record<string, unknown>[]).map((row) =>
    Object.fromEntries(
      columns.map(({ name, type }) => {
        const value = row[name] ?? null;
        return [name, type === 'json' && value !== null ? JSON.stringify(value) : value];
      }),
    ),
  );

describe('parquetFormat', () => {
  before(() => parquetFormat([]).load!());

  it('is lossless: a reader gets the JSON values, and the bytes do not depend on the batches', async () => {
    await fc.assert(
      fc.asyncProperty(table, async ({ columns, batches }) => {
        const format = parquetFormat(columns);
        const whole = format.write({ data: batches.flat() });
        const { before, rows, after } = format.list();
        expect(Buffer.concat([before, ...batches.map(rows), after()]).equals(whole)).to.equal(true);
        expect((await readParquet(whole)).rows).to.deep.equal(inJson(columns, batches.flat()));
      }),
    );
  });

  it('writes a row group as soon as it is full', async () => {
    const format = parquetFormat([some('integer'), { ...some('string'), name: 'b' }]);
    const rows = Array.from({ length: 25_000 }, (_, a) => ({ a, b: `row ${a % 100}` }));
    const list = format.list();
    const pieces = [list.before];
    for (let start = 0; start < rows.length; start += 999) pieces.push(list.rows(rows.slice(start, start + 999)));
    expect(pieces.filter(({ length }) => length > 4)).to.have.length(2);
    const written = Buffer.concat([...pieces, list.after()]);
    expect(written.equals(format.write({ data: rows }))).to.equal(true);
    const file = await readParquet(written);
    expect(file.groupRows).to.deep.equal([10_000, 10_000, 5000]);
    expect(file.rows).to.deep.equal(rows);
    expect([...file.codecs]).to.deep.equal(['SNAPPY']);
  });

  it('declares the types of its columns, even without rows', async () => {
    const columns = TYPES.map((type, i): TypedColumn => ({ name: type, type, optional: i % 2 === 1 }));
    const file = await readParquet(parquetFormat(columns).write({ data: [] }));
    expect(file.rows).to.deep.equal([]);
    expect(file.columns).to.deep.equal([
      'string STRING REQUIRED',
      'date DATE OPTIONAL',
      'date-time TIMESTAMP REQUIRED',
      'integer INT64 OPTIONAL',
      'number DOUBLE REQUIRED',
      'boolean BOOLEAN OPTIONAL',
      'json STRING REQUIRED',
    ]);
  });

  it('writes only the chosen columns, in order', async () => {
    const format = parquetFormat([
      some('integer'),
      { ...some('string'), name: 'b' },
      { ...some('boolean'), name: 'c' },
    ]);
    const file = await readParquet(format.write({ data: [{ a: 1, b: 'x', c: true }] }, ['c', 'a']));
    expect(file.rows).to.deep.equal([{ c: true, a: 1 }]);
    expect(file.columns).to.deep.equal(['c BOOLEAN REQUIRED', 'a INT64 REQUIRED']);
  });

  it('leaves out inherited properties', async () => {
    const format = parquetFormat([{ name: 'constructor', type: 'string', optional: true }]);
    expect((await readParquet(format.write({ data: [{}] }))).rows).to.deep.equal([{ constructor: null }]);
  });

  for (const [type, value, shown] of [
    ['number', Number.NaN, 'NaN'],
    ['number', Number.NEGATIVE_INFINITY, '-Infinity'],
    ['number', '1', '"1"'],
    ['integer', 1.5, '1.5'],
    ['integer', 2 ** 53, '9007199254740992'],
    ['string', 1, '1'],
    ['string', ['x'], '["x"]'],
    ['boolean', 'true', '"true"'],
    ['date', 'soon', '"soon"'],
    ['date', '2024-01-01T12:00:00Z', '"2024-01-01T12:00:00Z"'],
    ['date-time', 0, '0'],
    ['string', null, 'null'],
    ['string', undefined, 'undefined'],
  ] as const) {
    it(`rejects ${shown} if the schema has a ${type}, and names the place`, () => {
      const write = () => parquetFormat([some(type)]).write({ data: [{ a: value }] });
      expect(write).to.throw(`it has ${shown} at /a, where its schema has a ${type}`);
    });
  }
});
