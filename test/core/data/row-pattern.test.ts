import { expect } from 'chai';
import fc from 'fast-check';
import type { JsonSchema } from '../../../core/contracts/json-schema.js';
import { jsonRows } from '../../../core/data/packed-documents.js';
import { rowPattern } from '../../../core/data/row-pattern.js';
import { compileSchema } from '../../../core/validation/compile-schema.js';

const schema = {
  type: 'object',
  required: ['id', 'day', 'amount'],
  additionalProperties: false,
  properties: {
    id: { type: 'string', title: 'Id' },
    day: { type: 'string', format: 'date' },
    amount: { type: 'number' },
    units: { type: ['integer', 'null'] },
    open: { type: 'boolean' },
  },
} as const;

const row = { id: 'x', day: '2024-02-29', amount: -1.5, units: null, open: true };
const textOf = (...lines: readonly string[]) => {
  let end = -1;
  const ends = lines.map((line) => {
    end += 1 + Buffer.byteLength(line);
    return end;
  });
  return { json: Buffer.from(lines.join('\n')), ends };
};
const matches = (...lines: readonly string[]): boolean => rowPattern(schema)!(textOf(...lines));
const withPart = (part: object): string => JSON.stringify({ ...row, ...part });

describe('rowPattern(schema)', () => {
  it('matches rows with all fields in the order of the schema', () => {
    const rows = [row, { ...row, id: 'ü 😀', amount: 1e-7, units: 12 }];
    expect(matches(...rows.map((each) => JSON.stringify(each)))).to.equal(true);
    expect(rowPattern(schema)!(jsonRows(rows))).to.equal(true);
  });

  for (const [what, line] of [
    ['a missing field', '{"id":"x"}'],
    ['another type', withPart({ id: 1 })],
    ['null where it is not allowed', withPart({ amount: null })],
    ['a fraction in a whole number', withPart({ units: 0.5 })],
    ['an infinite number', withPart({ amount: 1 }).replace('"amount":1', '"amount":1e999')],
    ['a number with a leading zero', withPart({ amount: 1 }).replace('"amount":1', '"amount":01')],
    ['an unknown field', withPart({ more: 1 })],
    ['a repeated field', `${withPart({}).slice(0, -1)},"open":true}`],
    ['a second value on a line', `${withPart({})} {}`],
    ['a control character', withPart({}).replace('"x"', '"\u0001"')],
    ['an incomplete row', withPart({}).slice(0, -1)],
  ] as const) {
    it(`does not match ${what}`, () => {
      expect(matches(line)).to.equal(false);
      expect(matches(withPart({}), line)).to.equal(false);
      expect(matches(line, withPart({}))).to.equal(false);
    });
  }

  it('does not match bytes that are not UTF-8', () => {
    const text = textOf(withPart({ id: 'xx' }));
    text.json[text.json.indexOf('xx')] = 0xff;
    expect(rowPattern(schema)!(text)).to.equal(false);
  });

  it('matches exactly the days that row validation accepts', () => {
    const isDay = compileSchema({ type: 'object', properties: { day: schema.properties.day } });
    for (const year of [1900, 1999, 2000, 2004, 2023, 2024, 2100]) {
      for (let month = 0; month <= 13; month++) {
        for (let date = 0; date <= 32; date++) {
          const day = [year, String(month).padStart(2, '0'), String(date).padStart(2, '0')].join('-');
          const isRare = year % 100 === 0 && day.endsWith('-02-29');
          expect(matches(withPart({ day })), day).to.equal(isDay({ day }) && !isRare);
        }
      }
    }
  });

  it('matches no row that row validation rejects', () => {
    const validate = compileSchema(schema);
    const values = fc.oneof(fc.constantFrom(...Object.values(row)), fc.jsonValue({ maxDepth: 1 }));
    const rows = fc.tuple(values, values, values, values, values).map(([id, day, amount, units, open]) => {
      return { id, day, amount, units, open };
    });
    fc.assert(
      fc.property(rows, (each) => {
        if (matches(JSON.stringify(each))) expect(validate(each)).to.equal(true);
      }),
      { numRuns: 2000 },
    );
  });

  it('matches no value that a rule about values rejects', () => {
    const texts = fc.oneof(fc.constantFrom('', 'ab-12', 'AB-12', 'x', '1.5', '"', '\\', 'ab-1"'), fc.string());
    const numbers = fc.oneof(
      fc.constantFrom(0, -0, -1, 1.5, 1e300),
      fc.double({ noNaN: true, noDefaultInfinity: true }),
    );
    for (const [field, value] of [
      [{ type: 'string', minLength: 1 }, texts],
      [{ type: 'string', pattern: '^[a-z]{2}-\\d+$' }, texts],
      [{ type: ['string', 'null'], pattern: '^\\w?[0-9]*\\.5$' }, texts],
      [{ type: 'number', minimum: 0 }, numbers],
      [{ type: ['integer', 'null'], minimum: 0 }, numbers],
    ] as [JsonSchema, fc.Arbitrary<unknown>][]) {
      const object: JsonSchema = { type: 'object', properties: { value: field } };
      const validate = compileSchema(object);
      const pattern = rowPattern(object)!;
      let matched = 0;
      fc.assert(
        fc.property(value, (each) => {
          if (!pattern(textOf(JSON.stringify({ value: each })))) return;
          matched++;
          expect(validate({ value: each })).to.equal(true);
        }),
        { numRuns: 1000 },
      );
      expect(matched).to.be.above(0);
    }
  });

  for (const [what, changed] of [
    ['a longer least length', { properties: { ...schema.properties, id: { type: 'string', minLength: 2 } } }],
    ['a minimum', { properties: { ...schema.properties, amount: { type: 'number', minimum: 1 } } }],
    ['a pattern with a wildcard', { properties: { ...schema.properties, id: { type: 'string', pattern: '^a.*$' } } }],
    [
      'a pattern with a negated class',
      { properties: { ...schema.properties, id: { type: 'string', pattern: '^[^a]$' } } },
    ],
    ['a pattern without anchors', { properties: { ...schema.properties, id: { type: 'string', pattern: 'a' } } }],
    ['a rule about the whole row', { minProperties: 2 }],
    ['another format', { properties: { ...schema.properties, id: { type: 'string', format: 'uri' } } }],
    ['a required field without a schema', { required: ['other'] }],
    ['nested values', { properties: { ...schema.properties, list: { type: 'array' } } }],
  ] as [string, JsonSchema][]) {
    it(`has no pattern for a schema with ${what}`, () => {
      expect(rowPattern({ ...schema, ...changed })).to.equal(undefined);
    });
  }
});
