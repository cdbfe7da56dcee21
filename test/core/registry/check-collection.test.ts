import { expect } from 'chai';
import type { Collection } from '../../../core/contracts/dataset.js';
import { checkCollection, referenceErrors } from '../../../core/registry/collect-collections.js';
import { collections } from '../../../plugins/metro/collections.js';

const rows: Collection = {
  name: 'rows',
  key: ['id'],
  orders: [['rank', 'id']],
  schema: {
    type: 'object',
    required: ['id', 'rank', 'tags'],
    properties: {
      id: { type: 'string' },
      rank: { type: 'integer' },
      tags: { type: 'array' },
      maybe: { type: 'string' },
      either: { type: ['string', 'null'] },
    },
  },
};

const NOT_SCALAR = 'must be a required property of the schema, of type string, integer or number';

describe('checkCollection(collection)', () => {
  const wrong: [what: string, change: Partial<Collection>, error: string][] = [
    ['a name in capitals', { name: 'Rows' }, 'the name must match ^[a-z][a-z0-9_]*$'],
    ['an empty key', { key: [], orders: [] }, 'the key has no fields'],
    ['a key field that is not in the schema', { key: ['no'], orders: [] }, `the key: "no" ${NOT_SCALAR}`],
    ['a key field that may be absent', { key: ['maybe'], orders: [] }, `the key: "maybe" ${NOT_SCALAR}`],
    ['a key field that may be null', { key: ['either'], orders: [] }, `the key: "either" ${NOT_SCALAR}`],
    ['a key field of type array', { key: ['tags'], orders: [] }, `the key: "tags" ${NOT_SCALAR}`],
    [
      'a key field with a name of Object.prototype',
      { key: ['constructor'], orders: [] },
      `the key: "constructor" ${NOT_SCALAR}`,
    ],
    [
      'a key field with a dot',
      { key: ['a.b'], orders: [] },
      'the key: the field name "a.b" must match ^[a-z][a-z0-9_]*$',
    ],
    [
      'an order with a dot',
      { orders: [['a.b', 'id']] },
      'order [a.b, id]: the field name "a.b" must match ^[a-z][a-z0-9_]*$',
    ],
    [
      'a property with U+0000',
      {
        schema: {
          ...rows.schema,
          properties: { ...(rows.schema['properties'] as object), 'a\0b': { type: 'integer' } },
        },
      },
      'the property name "a\\u0000b" contains the character U+0000',
    ],
    ['a key field that is repeated', { key: ['id', 'id'] }, 'the key contains a field twice'],
    ['an order that is not unique', { orders: [['rank']] }, 'order [rank] leaves ties: append the key\'s "id"'],
    ['an order that is the key', { orders: [['id']] }, 'order [id] is already declared'],
    ['an empty order', { key: ['id'], orders: [[]] }, 'order [] has no fields'],
    [
      'a reference by a missing field',
      { references: [{ fields: ['x'], to: 'y' }] },
      `the reference to "y": "x" ${NOT_SCALAR}`,
    ],
    [
      'a schema that is not an object',
      { schema: { ...rows.schema, type: 'array' } },
      'the schema must have "type": "object"',
    ],
  ];
  for (const [what, change, error] of wrong) {
    it(`finds ${what}`, () => expect(checkCollection({ ...rows, ...change })).to.include(error));
  }

  it('finds a schema that does not compile', () => {
    const [error] = checkCollection({ ...rows, schema: { ...rows.schema, minProperties: 'two' } });
    expect(error).to.match(/^the schema does not compile: .*minProperties/);
  });

  it('reports several errors together', () => {
    expect(checkCollection({ ...rows, name: '', key: [], orders: [['tags'], ['x']] })).to.have.length(4);
  });

  it('accepts a correct declaration', () => expect(checkCollection(rows)).to.deep.equal([]));
});

describe('referenceErrors(collection, byName)', () => {
  const to = (target: string): Collection => ({ ...rows, references: [{ fields: ['rank'], to: target }] });
  const byName = new Map([[rows.name, rows]]);

  it('accepts the built-in collections', () => {
    const all = new Map(collections.map((each) => [each.name, each]));
    for (const each of collections) expect(referenceErrors(each, all), each.name).to.deep.equal([]);
  });

  it('finds references to undeclared collections, and references that do not match the key', () => {
    expect(referenceErrors(to('nothing'), byName)).to.deep.equal([
      'refers to the collection "nothing", which no plugin declares',
    ]);
    expect(referenceErrors(to('rows'), byName)).to.deep.equal([
      'has a reference [rank] that differs in number or types from the key of "rows"',
    ]);
  });
});
