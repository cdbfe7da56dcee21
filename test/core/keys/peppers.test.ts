import { createHash, createHmac } from 'node:crypto';
import { inspect } from 'node:util';
import { expect } from 'chai';
import { createKey, missingPeppers, Peppers } from '../../../core/keys/key.js';
import { newRecord } from '../../support/key-record.js';

const SECRETS = { '1': 'first '.repeat(6), '2': 'secönd '.repeat(6), '10': 'tenth '.repeat(6) };
const NOW = Date.parse('2026-05-01T00:00:00Z');

const sha256 = (key: string) => createHash('sha256').update(key).digest('hex');
const hmac = (key: string, version: keyof typeof SECRETS) =>
  createHmac('sha256', SECRETS[version]).update(key).digest('hex');

describe('Peppers', () => {
  it('hash a new key with HMAC-SHA-256 and the newest pepper, or with SHA-256 without peppers', () => {
    const { key } = createKey();
    expect(new Peppers(SECRETS).digest(key)).to.deep.equal({ hash: hmac(key, '10'), pepper: 10 });
    expect(new Peppers({ '1': SECRETS['1'] }).digest(key)).to.deep.equal({ hash: hmac(key, '1'), pepper: 1 });
    expect(new Peppers({}).digest(key)).to.deep.equal({ hash: sha256(key) });
    expect(new Peppers().digest(key)).to.deep.equal({ hash: sha256(key) });
  });

  it('createKey(peppers) returns the hash and the version of the pepper', () => {
    const { key, hash, pepper } = createKey(new Peppers(SECRETS));
    expect({ hash, pepper }).to.deep.equal({ hash: hmac(key, '10'), pepper: 10 });
  });

  it('return a digest for each version, newest first, and the digest without a pepper last', () => {
    const { key } = createKey();
    const digests = [hmac(key, '10'), hmac(key, '2'), hmac(key, '1'), sha256(key)];
    expect([...new Peppers(SECRETS).digests(key)]).to.deep.equal(digests);
    expect([...new Peppers().digests(key)]).to.deep.equal([sha256(key)]);
  });

  it('do not reveal their secrets when printed', () => {
    const peppers = new Peppers(SECRETS);
    expect(`${inspect(peppers, { depth: 9, showHidden: true })}${JSON.stringify(peppers)}`).to.not.match(/first|tenth/);
  });
});

describe('missingPeppers(records, peppers, now)', () => {
  const peppers = new Peppers({ '2': SECRETS['2'] });

  it('reports the active keys that each missing version rejects, and what to do', () => {
    const ids = ['key_a', 'key_b', 'key_c', 'key_d', 'key_e'];
    const records = [
      ...ids.map((id) => newRecord({ id, pepper: 1 })),
      newRecord({ id: 'key_f', pepper: 3 }),
      newRecord({ id: 'key_known', pepper: 2 }),
      newRecord({ id: 'key_plain' }),
      newRecord({ id: 'key_revoked', pepper: 1, revoked_at: '2026-01-01T00:00:00Z' }),
      newRecord({ id: 'key_expired', pepper: 4, expires_at: '2026-05-01T00:00:00Z' }),
    ];
    const todo = 'Set it to its previous value, or create new keys for their owners.';
    expect(missingPeppers(records, peppers, NOW)).to.deep.equal([
      `auth.peppers has no version 1, so these keys are rejected: key_a, key_b, key_c and 2 more. ${todo}`,
      `auth.peppers has no version 3, so these keys are rejected: key_f. ${todo}`,
    ]);
  });

  it('returns nothing if all peppers are configured', () => {
    expect(missingPeppers([newRecord(), newRecord({ pepper: 2 })], peppers, NOW)).to.deep.equal([]);
  });
});
