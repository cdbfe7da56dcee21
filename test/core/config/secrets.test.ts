import { expect } from 'chai';
import fc from 'fast-check';
import type { Config } from '../../../core/config/schema.js';
import { maskSecrets } from '../../../core/config/secrets.js';
import { maskUrlPasswords } from '../../../core/validation/secrets.js';

const config = (change: object): Config =>
  ({ adapter: { use: 'a', options: {} }, plugins: [], auth: { keys: { use: 'f', options: {} } }, ...change }) as never;

describe('maskSecrets(config, schemas)', () => {
  it('shows only scheme and hosts of a secret URL', () => {
    const urls: [url: string, shown: string][] = [
      ['redis://127.0.0.1:6379', 'redis://127.0.0.1:6379'],
      ['redis://:pw@h:1/0', 'redis://***@h:1/***'],
      ['rediss://u:p@ss/w@h', 'rediss://***@h'],
      ['redis://token@h?password=pw', 'redis://***@h/***'],
    ];
    for (const [url, shown] of urls) {
      expect(maskSecrets(config({ redis: { url } })).redis?.url).to.equal(shown);
    }
  });

  it('shows whether a secret is set, but nothing of a secret that is not a URL', () => {
    const schema = { type: 'object', properties: { token: { 'x-secret': true } } };
    for (const [token, shown] of [
      [null, null],
      ['', ''],
      ['x', '***'],
      [5, '***'],
      [['x'], '***'],
    ] as const) {
      const masked = maskSecrets(config({ adapter: { use: 'a', options: { token } } }), { adapter: schema });
      expect(masked.adapter.options).to.deep.equal({ token: shown });
    }
  });

  it('shows only the versions of key peppers', () => {
    const auth = { realm: 'r', peppers: { '1': 'pw', '2': 'p w' }, keys: { use: 'k', options: {} } };
    const masked = maskSecrets(config({ auth }));
    expect(masked.auth).to.deep.equal({ ...auth, peppers: { '1': '***', '2': '***' } });
  });

  it('masks settings that the schema of a module marks as secret', () => {
    const schema = {
      type: 'object',
      properties: { dsn: { type: 'string', 'x-secret': true }, path: { type: 'string' } },
    };
    const options = { dsn: 'host=h password=pw', path: '/data' };
    const masked = maskSecrets(
      config({
        adapter: { use: 'a', options },
        plugins: [{ use: 'p', options }],
        auth: { realm: 'r', keys: { use: 'k', options } },
      }),
      { adapter: schema, keys: schema, plugins: [schema] },
    );
    const shown = { dsn: '***', path: '/data' };
    expect(masked.adapter.options).to.deep.equal(shown);
    expect(masked.plugins[0]?.options).to.deep.equal(shown);
    expect(masked.auth.keys.options).to.deep.equal(shown);
    expect(masked.auth.realm).to.equal('r');
  });

  it('masks by setting name if there is no schema', () => {
    const options = {
      password: 'pw',
      apiKey: 'k',
      nested: { accessToken: 't', list: [{ secret: 's' }] },
      keyPrefix: 'p:',
    };
    expect(maskSecrets(config({ adapter: { use: 'a', options } })).adapter.options).to.deep.equal({
      password: '***',
      apiKey: '***',
      nested: { accessToken: '***', list: [{ secret: '***' }] },
      keyPrefix: 'p:',
    });
  });

  it('does not change the configuration itself', () => {
    const original = config({ redis: { url: 'redis://:pw@h' } });
    maskSecrets(original);
    expect(original.redis?.url).to.equal('redis://:pw@h');
  });
});

describe('maskUrlPasswords(text)', () => {
  it('removes the password of every URL, even with special characters', () => {
    const password = fc
      .string({ minLength: 1 })
      .filter((text) => !/\s/.test(text))
      .map((text) => `PW${text}PW`);
    fc.assert(
      fc.property(password, (secret) => {
        expect(maskUrlPasswords(`see db://user:${secret}@host/x`)).to.equal('see db://user:***@host/x');
      }),
    );
  });

  it('changes nothing else', () => {
    for (const text of ['https://h:80/a', 'a@b.example', '/data/x', 'db://user@h']) {
      expect(maskUrlPasswords(text)).to.equal(text);
    }
  });
});
