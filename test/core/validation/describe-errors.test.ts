import { expect } from 'chai';
import type { JsonSchema } from '../../../core/contracts/json-schema.js';
import { checkOptions } from '../../../core/validation/describe-errors.js';

const object = (properties: object, more: object = {}): JsonSchema => ({
  type: 'object',
  additionalProperties: false,
  properties,
  ...more,
});

describe('checkOptions(path, schema, value)', () => {
  const cases: [schema: JsonSchema, value: unknown, ...errors: string[]][] = [
    [object({ path: { type: 'string' } }), { path: 'x' }],
    [object({ path: { type: 'string' } }), { path: 1 }, 'at.path: 1 is not allowed; it must be a string'],
    [object({ path: {} }), { pth: 1 }, 'at.pth: there is no such setting; did you mean "path"?'],
    [object({}), { x: 1 }, 'at.x: there is no such setting; there are none here'],
    [object({ a: { const: 3 } }), { a: 4 }, 'at.a: 4 is not allowed; it must be 3'],
    [
      object({ a: { type: 'number', exclusiveMinimum: 0, maximum: 1 } }),
      { a: 0 },
      'at.a: 0 is not allowed; it must be a number greater than 0 and of at most 1',
    ],
    [
      object({ a: { type: 'string', minLength: 2, maxLength: 3, pattern: '^x' } }),
      { a: 'yyyy' },
      'at.a: "yyyy" is not allowed; it must be a string, matching ^x, of at most 3 characters, of at least 2 characters',
    ],
    [
      object({ a: { type: 'string', format: 'date', example: '2026-01-31' } }),
      { a: '2026-02-30' },
      'at.a: "2026-02-30" is not allowed; it must be a string, in the format "date", for example "2026-01-31"',
    ],
    [
      object({ a: { anyOf: [{ type: 'integer' }, { type: 'null' }] } }),
      { a: 'x' },
      'at.a: "x" is not allowed; it must be a whole number or null',
    ],
    [
      object({ a: { anyOf: [{ type: 'string' }, object({ b: { type: 'boolean' } })] } }),
      { a: { b: 1 } },
      'at.a.b: 1 is not allowed; it must be true or false',
    ],
    [object({ a: { not: { const: 1 } } }), { a: 1 }, 'at.a: 1 is not allowed; it must NOT be valid'],
    [
      object({ a: {}, b: {} }, { anyOf: [{ required: ['a'] }, { required: ['b'] }] }),
      {},
      'at: there must be at least one of "a", "b"',
    ],
    [
      object({ a: {}, b: {}, c: {} }, { oneOf: [{ required: ['a', 'b'] }, { required: ['c'] }] }),
      { a: 1, b: 2, c: 3 },
      'at: there must be exactly one of "a" with "b", "c"',
    ],
    [
      object({ a: { type: 'array', uniqueItems: true } }),
      { a: [[1], [2], [1]] },
      'at.a: items 0 and 2 are the same; each may occur once',
    ],
    [
      object({ a: { type: 'array', uniqueItems: true } }),
      { a: 1 },
      'at.a: 1 is not allowed; it must be a list without repetitions',
    ],
    [object({ $schema: {}, size: {} }), { $schemas: 1 }, 'at.$schemas: there is no such setting; there are "size"'],
    [
      object({ a: { type: 'string', maxLength: 1 } }),
      { a: 'x'.repeat(99) },
      `at.a: "${'x'.repeat(79)}… is not allowed; it must be a string, of at most 1 characters`,
    ],
    [
      object({ a: { type: 'string', maxLength: 1 } }),
      { a: 'x'.repeat(78) },
      `at.a: "${'x'.repeat(78)}" is not allowed; it must be a string, of at most 1 characters`,
    ],
    [object({}), 'x', 'at: "x" is not allowed; it must be an object'],
    [
      object({ 'a/b~c': { items: { type: 'integer' }, type: 'array' } }),
      { 'a/b~c': [1, 'x'] },
      'at["a/b~c"][1]: "x" is not allowed; it must be a whole number',
    ],
    [
      object({ a: { type: 'object', patternProperties: { '^x': { type: 'integer' } } } }),
      { a: { x1: null } },
      'at.a.x1: null is not allowed; it must be a whole number',
    ],
  ];
  for (const [schema, value, ...errors] of cases) {
    it(`${JSON.stringify(value)}: ${errors[0] ?? 'no error'}`, () => {
      expect(checkOptions('at', schema, value)).to.deep.equal(errors);
    });
  }

  it('adds defaults', () => {
    const value = {};
    expect(checkOptions('at', object({ pollMs: { type: 'integer', default: 1000 } }), value)).to.deep.equal([]);
    expect(value).to.deep.equal({ pollMs: 1000 });
  });

  it('names the environment variable that set an invalid value', () => {
    const overrides = [{ path: 'at.a', variable: 'DEMO__AT__A' }];
    expect(checkOptions('at', object({ a: { type: 'integer' } }), { a: 'x' }, { overrides })).to.deep.equal([
      'at.a (from DEMO__AT__A): "x" is not allowed; it must be a whole number',
    ]);
  });

  it('shows no secrets and no passwords in URLs', () => {
    const schema = object({ token: { type: 'string', minLength: 9, 'x-secret': true }, port: { type: 'integer' } });
    const errors = checkOptions('at', schema, { token: 'hunter2', port: 'db://u:hunter2@h' });
    expect(errors).to.deep.equal([
      'at.token: the value (not shown, it may be a secret) is not allowed; it must be a string, of at least 9 characters',
      'at.port: "db://u:***@h" is not allowed; it must be a whole number',
    ]);
  });

  for (const schema of [{ type: 'objekt' }, object({ a: { type: 'string', minLength: -1 } }), { anyOf: [] }]) {
    it(`reports the invalid schema ${JSON.stringify(schema)} of a module`, () => {
      const [error] = checkOptions('adapter.options', schema, {});
      expect(error).to.match(
        /^adapter\.options: cannot be checked because the module's schema for its options is invalid: /,
      );
    });
  }
});
