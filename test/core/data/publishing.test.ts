import { expect } from 'chai';
import { assertComplete, readable } from '../../../core/data/publishing.js';
import { StorageError } from '../../../core/errors.js';

describe('readable(batches)', () => {
  it('rejects with invalid_dataset and the cause if the function that returns the batches throws', async () => {
    const cause = new Error('no such file');
    const batches = readable(() => {
      throw cause;
    });
    const error = await batches.next().catch((thrown: unknown) => thrown);
    expect(error).to.be.instanceOf(StorageError).that.includes({ code: 'invalid_dataset', cause });
  });
});

describe('assertComplete(version, stored, declared, capabilities)', () => {
  const notes = { name: 'notes', key: ['id'], schema: { type: 'object' }, search: ['text'] };
  const stored = { notes: { orders: [['id']] } };

  it('asks for a search index only if the adapter has the capability search', () => {
    const declared = new Map([[notes.name, notes]]);
    assertComplete('v1', stored, declared, { search: false });
    assertComplete('v1', { notes: { orders: [['id']], search: ['text'] } }, declared, { search: true });
    expect(() => assertComplete('v1', stored, declared, { search: true })).to.throw(
      'The version v1 was published without the search index [text] of "notes"',
    );
  });

  it('distinguishes orders whose field names contain commas', () => {
    const notes = { name: 'notes', key: ['a', 'b'], schema: {} };
    expect(() => assertComplete('v1', { notes: { orders: [['a,b']] } }, new Map([['notes', notes]]))).to.throw(
      'the order [a, b] of "notes"',
    );
  });
});
