import { assert } from 'chai';
import { compileSchema } from '../../../core/validation/compile-schema.js';

describe('compileSchema(schema, options)', () => {
  it('compiles equal schemas once', () => {
    const schema = () => ({ type: 'object', properties: { market: { type: 'string', example: '26420' } } });
    assert.strictEqual(compileSchema(schema()), compileSchema(schema()));
  });

  it('distinguishes different options, and different schemas with the same id', () => {
    const $id = 'https://schemas.example/limit';
    const schema = { $id, type: 'object', properties: { limit: { type: 'integer', default: 50 } } };
    const kept: { limit?: number } = {};
    const filled: { limit?: number } = {};
    compileSchema(schema)(kept);
    compileSchema(schema, { useDefaults: true })(filled);
    assert.deepEqual([kept, filled], [{}, { limit: 50 }]);
    assert.isTrue(compileSchema({ $id, type: 'string' })('all'));
    assert.isTrue(compileSchema(schema)({ limit: 1 }));
  });

  it('throws every time for an invalid schema', () => {
    for (const _ of [1, 2]) assert.throws(() => compileSchema({ type: 'market' }), /type/);
  });
});
