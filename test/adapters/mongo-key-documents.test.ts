import { expect } from 'chai';
import { KeyTable } from '../../adapters/mongo/key-documents.js';
import { newRecord } from '../support/key-record.js';

describe('the keys that the MongoDB key store keeps in memory', () => {
  it('a hash that has moved to another id is still found when the previous id is deleted or gets another hash', () => {
    for (const change of ['deleted', 'other hash']) {
      const [before, after] = [newRecord(), newRecord()];
      const moved = { ...after, hash: before.hash };
      const table = new KeyTable();
      table.set(before);
      table.set(moved);
      if (change === 'deleted') table.delete(before.id);
      else table.set({ ...before, hash: newRecord().hash });
      expect(table.lookup(before.hash), change).to.deep.equal(moved);
    }
  });
});
