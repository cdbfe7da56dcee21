import { assert } from 'chai';
import type { RedisConfig } from '../../../core/redis/config.js';
import { redisSchema } from '../../../core/redis/config.js';
import { compileSchema } from '../../../core/validation/compile-schema.js';

describe('redisSchema', () => {
  const validate = compileSchema<{ redis: RedisConfig | null }>(
    { type: 'object', properties: { redis: redisSchema } },
    { useDefaults: true },
  );
  const nodes = ['10.0.0.1:6379', 'redis-2.internal:6380', '[2001:db8::1]:6379'];

  for (const [what, config] of Object.entries({
    null: null,
    'a URL': { url: 'redis://127.0.0.1:6379/2' },
    'a URL with TLS': { url: 'rediss://user:secret@redis.example:6380' },
    Sentinels: { sentinel: { name: 'primary', nodes, password: 'secret', sentinelPassword: 'other', db: 1 } },
    'a cluster': { cluster: { nodes, tls: true } },
  })) {
    it(`allows ${what}`, () => {
      assert.isTrue(
        validate({ redis: structuredClone(config) }),
        JSON.stringify(validate.errors?.map(({ message }) => message)),
      );
    });
  }

  for (const [what, config] of Object.entries({
    'an empty object': {},
    'a URL and a cluster': { url: 'redis://127.0.0.1', cluster: { nodes } },
    'a URL that is not redis://': { url: 'http://127.0.0.1' },
    'a node without a port': { cluster: { nodes: ['10.0.0.1'] } },
    'a Sentinel without the name of its primary': { sentinel: { nodes } },
    'a key prefix with braces': { url: 'redis://127.0.0.1', keyPrefix: '{a}' },
    'an unknown property': { url: 'redis://127.0.0.1', timeout: 1 },
  })) {
    it(`rejects ${what}`, () => {
      assert.isFalse(validate({ redis: structuredClone(config) }));
    });
  }

  it('fills in defaults', () => {
    const config = { url: 'redis://127.0.0.1' };
    assert.isTrue(validate({ redis: config }));
    assert.deepEqual(config as unknown, {
      url: 'redis://127.0.0.1',
      keyPrefix: 'api:',
      timeoutMs: 150,
      connectTimeoutMs: 1000,
    });
  });

  it('marks URLs and passwords as secret', () => {
    const open: string[] = [];
    const visit = (schema: Record<string, unknown>, path: string): void => {
      for (const [name, property] of Object.entries((schema['properties'] ?? {}) as Record<string, object>)) {
        if (/url|password/i.test(name) && !('x-secret' in property)) open.push(`${path}/${name}`);
        visit(property as Record<string, unknown>, `${path}/${name}`);
      }
    };
    visit(redisSchema as Record<string, unknown>, '');
    assert.isEmpty(open);
  });
});
