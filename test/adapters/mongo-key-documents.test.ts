import { expect } from 'chai';
import { CachedKeys } from '../../adapters/mongo/key-documents.js';
import { newRecord } from '../support/key-record.js';

describe('the keys that the MongoDB key store keeps in memory', () => {
  it('a hash that has moved to another id is still found when the previous id is deleted or gets another hash', () => {
    for (const change of ['deleted', 'other hash']) {
      const [before, after] = [newRecord(), newRecord()];
      const moved = { ...after, hash: before.hash };
      const cached = new CachedKeys();
      cached.set(before);
      cached.set(moved);
      if (change === 'deleted') cached.delete(before.id);
      else cached.set({ ...before, hash: newRecord().hash });
      expect(cached.lookup(before.hash), change).to.deep.equal(moved);
    }
  });
});
