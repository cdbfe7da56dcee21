import { expect } from 'chai';
import { readable } from '../../../core/data/publishing.js';
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
