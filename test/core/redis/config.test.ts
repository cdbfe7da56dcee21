/** The configuration of Redis: what it allows, and what of it is secret. */
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
    'null, for none': null,
    'a url': { url: 'redis://127.0.0.1:6379/2' },
    'a url with TLS': { url: 'rediss://user:secret@redis.example:6380' },
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
    'nothing to connect to': {},
    'two ways at once': { url: 'redis://127.0.0.1', cluster: { nodes } },
    'a url of something else': { url: 'http://127.0.0.1' },
    'a node without a port': { cluster: { nodes: ['10.0.0.1'] } },
    'a Sentinel without the name of its primary': { sentinel: { nodes } },
    'a prefix that would break hash tags': { url: 'redis://127.0.0.1', keyPrefix: '{a}' },
    'a name that does not exist': { url: 'redis://127.0.0.1', timeout: 1 },
  })) {
    it(`refuses ${what}`, () => {
      assert.isFalse(validate({ redis: structuredClone(config) }));
    });
  }

  it('fills in what is left out', () => {
    const config = { url: 'redis://127.0.0.1' };
    assert.isTrue(validate({ redis: config }));
    assert.deepEqual(config as unknown, {
      url: 'redis://127.0.0.1',
      keyPrefix: 'api:',
      timeoutMs: 150,
      connectTimeoutMs: 1000,
    });
  });

  it('marks everything that could hold a password as secret', () => {
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
