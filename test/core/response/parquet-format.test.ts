import { expect } from 'chai';
import fc from 'fast-check';
import type { Column } from '../../../core/contracts/format.js';
import { lazyRows } from '../../../core/data/lazy-rows.js';
import { jsonRows } from '../../../core/data/packed-documents.js';
import { parquetFormat } from '../../../core/response/parquet-format.js';
import { readParquet } from '../../support/parquet-reader.js';
import { piecesOf, writtenList } from '../../support/written-list.js';

const day = fc
  .date({ min: new Date('0001-01-01'), max: new Date('9999-12-31'), noInvalidDate: true })
  .map((date) => date.toISOString());
const values: Readonly<Record<Column['type'], fc.Arbitrary<unknown>>> = {
  string: fc.string({ unit: 'grapheme' }),
  date: day.map((text) => text.slice(0, 10)),
  'date-time': day,
  integer: fc.maxSafeInteger(),
  number: fc.double({ noNaN: true, noDefaultInfinity: true }),
  boolean: fc.boolean(),
  json: fc.array(fc.oneof(fc.string(), fc.integer(), fc.constant(null))),
};
const TYPES = Object.keys(values) as Column['type'][];
const some = (type: Column['type'], optional = false): Column => ({ name: 'a', type, optional });

const table = fc
  .array(fc.record({ type: fc.constantFrom(...TYPES), optional: fc.boolean() }), { minLength: 1, maxLength: 7 })
  .chain((types) => {
    const columns = types.map((column, i): Column => ({ name: `c${i}`, ...column }));
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

const inJson = (columns: readonly Column[], rows: readonly object[]) =>
  (JSON.parse(JSON.stringify(rows)) as Record<string, unknown>[]).map((row) =>
    Object.fromEntries(
      columns.map(({ name, type }) => {
        const value = row[name] ?? null;
        return [name, type === 'json' && value !== null ? JSON.stringify(value) : value];
      }),
    ),
  );

describe('parquetFormat', () => {
  it('is lossless: a reader gets the JSON values, and the bytes do not depend on the batches or on how rows are stored', async () => {
    await fc.assert(
      fc.asyncProperty(table, async ({ columns, batches }) => {
        const whole = await writtenList(parquetFormat, columns, batches.flat());
        expect((await writtenList(parquetFormat, columns, ...batches)).equals(whole)).to.equal(true);
        const stored = batches.map((rows) => lazyRows(jsonRows(rows)));
        expect((await writtenList(parquetFormat, columns, ...stored)).equals(whole)).to.equal(true);
        expect((await readParquet(whole)).rows).to.deep.equal(inJson(columns, batches.flat()));
      }),
    );
  });

  it('writes a row group as soon as it is full', async () => {
    const columns = [some('integer'), { ...some('string'), name: 'b' }];
    const rows = Array.from({ length: 25_000 }, (_, a) => ({ a, b: `row ${a % 100}` }));
    const batches = Array.from({ length: 26 }, (_, i) => rows.slice(i * 999, (i + 1) * 999));
    const pieces = await piecesOf(parquetFormat, columns, ...batches);
    expect(pieces.slice(0, -1).filter(({ length }) => length > 4)).to.have.length(2);
    const written = Buffer.concat(pieces);
    expect(written.equals(await writtenList(parquetFormat, columns, rows))).to.equal(true);
    const file = await readParquet(written);
    expect(file.groupRows).to.deep.equal([10_000, 10_000, 5000]);
    expect(file.rows).to.deep.equal(rows);
    expect([...file.codecs]).to.deep.equal(['SNAPPY']);
  });

  it('declares the types of its columns, even without rows', async () => {
    const columns = TYPES.map((type, i): Column => ({ name: type, type, optional: i % 2 === 1 }));
    const file = await readParquet(await writtenList(parquetFormat, columns));
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

  it('writes only its columns, in order', async () => {
    const columns = [{ ...some('boolean'), name: 'c' }, some('integer')];
    const file = await readParquet(await writtenList(parquetFormat, columns, [{ a: 1, b: 'x', c: true }]));
    expect(file.rows).to.deep.equal([{ c: true, a: 1 }]);
    expect(file.columns).to.deep.equal(['c BOOLEAN REQUIRED', 'a INT64 REQUIRED']);
  });

  it('leaves out inherited properties', async () => {
    const written = await writtenList(parquetFormat, [{ ...some('string', true), name: 'constructor' }], [{}]);
    expect((await readParquet(written)).rows).to.deep.equal([{ constructor: null }]);
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
    it(`rejects ${shown} if the schema has a ${type}, and names the place`, async () => {
      const error = await writtenList(parquetFormat, [some(type)], [{ a: value }]).catch((error: unknown) => error);
      expect(error).to.have.property('message', `it has ${shown} at /a, but its schema requires the type ${type}`);
    });
  }
});
