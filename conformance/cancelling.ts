/** Proves that a read ends when its caller no longer wants it. */
import assert from 'node:assert/strict';
import { failsWith } from './expect.js';
import { CROWD_BLOCKS, CROWD_SEATS, crowd, items } from './fixture.js';
import { find, type Instance, withSnapshot } from './instance.js';

export const describeCancelling = (instance: () => Instance): void => {
  describe('a signal', () => {
    it('that is aborted makes get() reject with aborted', async () => {
      await withSnapshot(instance(), async (snapshot) => {
        await failsWith('aborted', () => snapshot.get('items', ['i01'], AbortSignal.abort()));
      });
    });

    it('that is aborted makes find() reject with aborted before the first batch', async () => {
      await withSnapshot(instance(), async (snapshot) => {
        await failsWith('aborted', () => find(snapshot, items, {}, AbortSignal.abort()));
      });
    });

    it('aborted between two batches makes find() reject with aborted instead of the second', async () => {
      await withSnapshot(instance(), async (snapshot) => {
        const controller = new AbortController();
        const batches = snapshot.find('crowd', { order: crowd.key }, controller.signal)[Symbol.asyncIterator]();
        const first = await batches.next();
        controller.abort();
        // Nothing is left to be cancelled where the first batch held everything.
        if (!first.done && first.value.length < CROWD_BLOCKS * CROWD_SEATS) {
          await failsWith('aborted', () => batches.next());
        }
      });
    });

    it('aborted while get() is under way lets it settle, with the answer or with aborted', async () => {
      await withSnapshot(instance(), async (snapshot) => {
        const controller = new AbortController();
        const pending = snapshot.get('items', ['i01'], controller.signal);
        controller.abort();
        const [settled] = await Promise.allSettled([pending]);
        if (settled?.status === 'rejected') await failsWith('aborted', () => pending);
        else assert.equal(settled?.value?.['id'], 'i01');
      });
    });

    it('that is aborted makes ping() reject with aborted', async () => {
      await failsWith('aborted', () => instance().adapter.ping(AbortSignal.abort()));
    });
  });
};
