import { createHash } from 'node:crypto';
import { assert } from 'chai';
import { createKey } from '../../core/keys/key.js';
import { findSecrets } from './secret-forms.js';

describe('findSecrets()', () => {
  const { key } = createKey();
  const found = (text: string, keepsHashes = false) =>
    findSecrets([{ name: 'log', text, keepsHashes }], { valid: key });

  const planted: Readonly<Record<string, string>> = {
    'as it is': key,
    'cut short': key.slice(0, 30),
    'without its beginning': key.slice(20),
    'in the middle of base64': Buffer.from(`user:${key}!`).toString('base64'),
    'in base64 for URLs': Buffer.from(`??>${key}`).toString('base64url'),
    'in hex': Buffer.from(`a${key}`).toString('hex'),
    'percent-encoded': Buffer.from(key).toString('hex').replace(/../g, '%$&'),
    'in UTF-16': Buffer.from(key, 'utf16le').toString('latin1'),
    'by its SHA-256': createHash('sha256').update(key).digest('hex'),
    'by its SHA-256 in base64': createHash('sha256').update(key).digest('base64'),
  };
  for (const [how, text] of Object.entries(planted)) {
    it(`finds a key ${how}`, () => {
      assert.match(found(`{"msg":"${text}"}`)[0] ?? '', /^log has .+ of the key "valid"$/);
    });
  }

  it('finds nothing in text without secrets, and accepts hashes where they are allowed', () => {
    assert.deepEqual(found(createKey().key + createKey().hash), []);
    assert.deepEqual(found(createHash('sha256').update(key).digest('hex'), true), []);
  });
});
