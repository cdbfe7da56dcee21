import { expect } from 'chai';
import type { Collection } from '../../../core/contracts/dataset.js';
import type { Query } from '../../../core/contracts/storage.js';
import { checkKey, checkQuery } from '../../../core/data/check-query.js';
import { StorageError } from '../../../core/errors.js';

const rows: Collection = {
  name: 'rows',
  key: ['area', 'year'],
  orders: [['year', 'score', 'area']],
  schema: {
    type: 'object',
    required: ['area', 'year', 'score'],
    properties: { area: { type: 'string' }, year: { type: 'integer' }, score: { type: 'number' } },
  },
};
const byYear = ['year', 'score', 'area'];

describe('checkQuery(collection, query)', () => {
  const right: [what: string, query: object, complete: Query][] = [
    ['fills in the key as the order', {}, { order: ['area', 'year'] }],
    ['keeps a declared order', { order: byYear }, { order: byYear }],
    ['keeps equality on leading fields', { equal: { area: 'a' } }, { order: ['area', 'year'], equal: { area: 'a' } }],
    [
      'keeps a range on the next field',
      { range: { field: 'year', to: 1 } },
      { order: ['area', 'year'], range: { field: 'year', to: 1 } },
    ],
    [
      'leaves out empty conditions',
      { order: undefined, equal: {}, range: { field: 'area', from: undefined }, descending: false, limit: undefined },
      { order: ['area', 'year'] },
    ],
    [
      'keeps a cursor of the fields without equality',
      { order: byYear, equal: { year: 2000 }, after: [-0.5, ''] },
      { order: byYear, equal: { year: 2000 }, after: [-0.5, ''] },
    ],
    [
      'keeps direction and limit',
      { descending: true, limit: 0 },
      { order: ['area', 'year'], descending: true, limit: 0 },
    ],
  ];
  for (const [what, query, complete] of right) {
    it(what, () => expect(checkQuery(rows, query)).to.deep.equal(complete));
  }

  it('sorts the fields of `equal` by the order', () => {
    const { equal } = checkQuery(rows, { equal: { year: 2000, area: 'a' } });
    expect(Object.keys(equal!)).to.deep.equal(['area', 'year']);
  });

  const wrong: [what: string, query: object, sentence: RegExp][] = [
    ['an order that is not declared', { order: ['year'] }, /the order \[year\] is not one of \[area, year\], \[year, /],
    ['equality on a later field only', { equal: { year: 2000 } }, /"equal" names \[year\].* not the leading fields/],
    ['equality on a field of no order', { equal: { area: 'a', id: 1 } }, /"equal" names \[area, id\]/],
    ['equality on more fields than the order has', { equal: { area: 'a', year: 1, x: 2 } }, /"equal" names/],
    ['equality with undefined', { equal: { area: undefined } }, /"area" must be of type string, not undefined/],
    ['equality with another type', { equal: { area: 7 } }, /"area" must be of type string, not 7/],
    ['a cursor that is not a list', { after: 'a' }, /"after" must be a list of 2 values, for \[area, year\]/],
    ['a cursor of too few values', { after: ['a'] }, /"after" must be a list of 2 values, for \[area, year\]/],
    ['a cursor of too many values', { equal: { area: 'a' }, after: ['a', 1] }, /a list of 1 value, for \[year\]/],
    ['a cursor value of the wrong type', { after: ['a', '1'] }, /"year" must be of type integer, not the string "1"/],
    [
      'a cursor although equality covers all fields',
      { equal: { area: 'a', year: 1 }, after: [] },
      /"after" needs a field that "equal" does not name/,
    ],
    ['a fraction for an integer', { equal: { area: 'a', year: 0.5 } }, /"year" must be of type integer, not 0.5/],
    [
      'a string for a number',
      { order: byYear, range: { field: 'score', from: '1' } },
      /type number, not the string "1"/,
    ],
    ['a bound that is not finite', { range: { field: 'year', to: Infinity } }, /type integer, not Infinity/],
    ['a bound of null', { range: { field: 'year', to: null } }, /type integer, not null/],
    ['a range on a field of equality', { equal: { area: 'a' }, range: { field: 'area' } }, /over "area".*\[year\]/],
    ['a range on a field of no order', { range: { field: '__proto__', from: 1 } }, /over "__proto__"/],
    ['a negative limit', { limit: -1 }, /whole number from 0, not -1/],
    ['a fractional limit', { limit: 1.5 }, /whole number/],
    ['a direction that is not a boolean', { descending: 'yes' }, /true or false/],
    ['an unknown property', { where: {} }, /unknown parts \[where\]; a query has \[order, equal/],
  ];
  for (const [what, query, sentence] of wrong) {
    it(`rejects ${what}`, () => {
      expect(() => checkQuery(rows, query))
        .to.throw(StorageError, sentence)
        .with.property('code', 'invalid_query');
    });
  }
});

describe('checkKey(collection, key)', () => {
  it('accepts one value for each field of the key', () => checkKey(rows, ['a', 2000]));

  for (const key of [[], ['a'], ['a', 1, 2], [1, 'a'], ['a', NaN], ['a', '1']]) {
    it(`rejects ${JSON.stringify(key)}`, () => {
      expect(() => checkKey(rows, key))
        .to.throw(StorageError)
        .with.property('code', 'invalid_query');
    });
  }
});
