/** Tests the format of API keys. */

import { createHash } from 'node:crypto';
import { expect } from 'chai';
import fc from 'fast-check';
import { createKey, isKey } from '../../../core/keys/key.js';

const LETTERS = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const letter = fc.constantFrom(...LETTERS);
const anyKey = fc.constant(null).map(() => createKey().key);

describe('createKey()', () => {
  it('returns a prefix, 43 characters of base 62 and a checksum of 6 characters', () => {
    expect(createKey().key).to.match(/^api_[0-9A-Za-z]{49}$/);
  });

  for (const prefix of ['mfk_', 'A_', 'weather_live_', 'a123456789012345678_']) {
    it(`creates keys with the prefix ${prefix} that isKey accepts`, () => {
      const { key } = createKey(undefined, prefix);
      expect(key.slice(0, prefix.length)).to.equal(prefix);
      expect(key.slice(prefix.length)).to.match(/^[0-9A-Za-z]{49}$/);
      expect(isKey(key)).to.equal(true);
      expect(isKey(key.replace(prefix, 'other_'))).to.equal(false);
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

  it('uses all characters of base 62 at every position of the secret', () => {
    const keys = Array.from({ length: 3000 }, () => createKey().key.slice('api_'.length, -6));
    for (let place = 0; place < 43; place++) {
      expect(new Set(keys.map((secret) => secret[place])).size, `place ${place}`).to.equal(62);
    }
  });
});

describe('isKey(text)', () => {
  it('accepts every created key', () => {
    fc.assert(
      fc.property(anyKey, (key) => {
        expect(isKey(key)).to.equal(true);
      }),
    );
  });

  it('rejects a key with one character changed', () => {
    fc.assert(
      fc.property(anyKey, fc.integer({ min: 4, max: 52 }), letter, (key, at, other) => {
        fc.pre(key[at] !== other);
        expect(isKey(key.slice(0, at) + other + key.slice(at + 1))).to.equal(false);
      }),
      { numRuns: 1000 },
    );
  });

  it('rejects a key with two adjacent characters swapped', () => {
    fc.assert(
      fc.property(anyKey, fc.integer({ min: 4, max: 51 }), (key, at) => {
        fc.pre(key[at] !== key[at + 1]);
        expect(isKey(key.slice(0, at) + key[at + 1] + key[at] + key.slice(at + 2))).to.equal(false);
      }),
      { numRuns: 1000 },
    );
  });

  it('rejects a key that is truncated, extended, in another case or surrounded by spaces', () => {
    fc.assert(
      fc.property(anyKey, fc.integer({ min: 0, max: 52 }), letter, (key, length, more) => {
        for (const text of [key.slice(0, length), key + more, key.toUpperCase(), ` ${key}`, `${key}\n`]) {
          expect(isKey(text)).to.equal(false);
        }
      }),
    );
  });

  it('rejects other text', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        expect(isKey(text)).to.equal(false);
      }),
    );
  });

  it('accepts a key with the checksum CRC-32 in base 62', () => {
    // The CRC-32 of "mfk_" and 43 zeros was computed independently.
    expect(isKey(`mfk_${'0'.repeat(43)}4LKzVK`)).to.equal(true);
  });
});
