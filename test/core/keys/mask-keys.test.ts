import { expect } from 'chai';
import { createKey, excerpt, holdsKey, maskKeys } from '../../../core/keys/key.js';

describe('maskKeys(text)', () => {
  for (const prefix of ['api_', 'mfk_', 'weather_live_']) {
    const { key } = createKey(undefined, prefix);
    it(`masks a key with the prefix ${prefix} at any position`, () => {
      expect(maskKeys(`/rain/${key}?key=${key}"`)).to.equal(`/rain/${prefix}***?key=${prefix}***"`);
    });

    it(`masks a key with the prefix ${prefix} that lacks up to 16 characters or is too long`, () => {
      for (let cut = 0; cut <= 16; cut++) {
        expect(maskKeys(key.slice(0, key.length - cut))).to.equal(`${prefix}***`);
      }
      expect(maskKeys(`${key}${key.slice(-9)}`)).to.equal(`${prefix}***`);
    });

    it(`masks the secret part of a key with the prefix ${prefix} on its own`, () => {
      const secret = key.slice(prefix.length);
      for (const part of [secret, secret.slice(0, -6), secret.slice(16)]) {
        expect(maskKeys(part)).to.equal('***');
        expect(maskKeys(`id-${part}.1`)).to.equal('id-***.1');
      }
    });
  }

  for (const name of [
    'series_id',
    'metro_hpi',
    'req_0123456789abcdef0123456789abcdef',
    '0123456789abcdef0123456789abcdef',
    '018f3b1c-7d2e-7c4a-9f00-5b1e2a3c4d5e',
    'job_01ARZ3NDEKTSV4RRFFQ69G5FAV',
  ]) {
    it(`does not change ${name}`, () => {
      expect(maskKeys(name)).to.equal(name);
      expect(holdsKey(name)).to.equal(false);
    });
  }
});

describe('excerpt(text)', () => {
  it('truncates long text only', () => {
    expect(excerpt('metro_hpi')).to.equal('metro_hpi');
    expect(excerpt('x-'.repeat(40))).to.equal('x-'.repeat(40));
    expect(excerpt(`${'x-'.repeat(40)}y`)).to.equal(`${'x-'.repeat(40)}…`);
  });

  it('masks keys before it truncates, so that no part of a key remains', () => {
    const { key } = createKey();
    for (let at = 20; at <= 90; at++) {
      const text = excerpt('-'.repeat(at) + key);
      expect(text).to.not.match(/[0-9A-Za-z]{4}/);
    }
  });
});
