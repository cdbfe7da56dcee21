import { createHash } from 'node:crypto';
import { expect } from 'chai';
import fc from 'fast-check';
import { createKey, isMistyped } from '../../../core/keys/key.js';

const LETTERS = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const letter = fc.constantFrom(...LETTERS);
const anyKey = fc.constant(null).map(() => createKey().key);

describe('createKey()', () => {
  it('returns a prefix, 43 base-62 characters and a 6-character checksum', () => {
    expect(createKey().key).to.match(/^api_[0-9A-Za-z]{49}$/);
  });

  for (const prefix of ['mfk_', 'A_', 'weather_live_', 'a123456789012345678_']) {
    it(`creates keys with the prefix ${prefix} with a valid checksum`, () => {
      const { key } = createKey(undefined, prefix);
      expect(key.slice(0, prefix.length)).to.equal(prefix);
      expect(key.slice(prefix.length)).to.match(/^[0-9A-Za-z]{49}$/);
      expect(isMistyped(key)).to.equal(false);
      expect(isMistyped(key.replace(prefix, 'other_'))).to.equal(true);
    });
  }

  it('returns the SHA-256 of the key in hex, and an independent id', () => {
    const { key, hash, id } = createKey();
    expect(hash).to.equal(createHash('sha256').update(key).digest('hex'));
    expect(id).to.match(/^key_[0-9A-Za-z]{10}$/);
    expect(key).to.not.include(id.slice(4));
  });

  it('never repeats a key or an id', () => {
    const made = Array.from({ length: 2000 }, () => createKey());
    expect(new Set(made.map(({ key }) => key)).size).to.equal(2000);
    expect(new Set(made.map(({ id }) => id)).size).to.equal(2000);
  });

  it('uses all base-62 characters at every position of the secret', () => {
    const keys = Array.from({ length: 3000 }, () => createKey().key.slice('api_'.length, -6));
    for (let place = 0; place < 43; place++) {
      expect(new Set(keys.map((secret) => secret[place])).size, `place ${place}`).to.equal(62);
    }
  });
});

describe('isMistyped(text)', () => {
  it('accepts every created key', () => {
    fc.assert(
      fc.property(anyKey, (key) => {
        expect(isMistyped(key)).to.equal(false);
      }),
    );
  });

  it('finds a key in which one character changed', () => {
    fc.assert(
      fc.property(anyKey, fc.integer({ min: 4, max: 52 }), letter, (key, at, other) => {
        fc.pre(key[at] !== other);
        expect(isMistyped(key.slice(0, at) + other + key.slice(at + 1))).to.equal(true);
      }),
      { numRuns: 1000 },
    );
  });

  it('finds a key with two adjacent characters swapped', () => {
    fc.assert(
      fc.property(anyKey, fc.integer({ min: 4, max: 51 }), (key, at) => {
        fc.pre(key[at] !== key[at + 1]);
        expect(isMistyped(key.slice(0, at) + key[at + 1] + key[at] + key.slice(at + 2))).to.equal(true);
      }),
      { numRuns: 1000 },
    );
  });

  it('ignores text of another form', () => {
    for (const text of ['', 'sk-123', 'a.b.c', createKey().key.slice(1, -1), ` ${createKey().key}`]) {
      expect(isMistyped(text)).to.equal(false);
    }
  });
});
