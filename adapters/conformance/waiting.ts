/** Tests a publication that waits until another publication ends. Both can use the same adapter. */
import assert from 'node:assert/strict';
import { setTimeout as delay } from 'node:timers/promises';
import type { AdapterUnderTest } from './adapter-under-test.js';
import { failsWith, sameValue, within } from './expect.js';
import {
  anotherDataset,
  brokenDataset,
  FOURTH,
  FOURTH_CREATED,
  itemsOf,
  SECOND,
  THIRD,
  THIRD_CREATED,
} from './fixture.js';
import { beginToPublish, hasItems, type Instance, type Opened } from './instance.js';
import { isExclusive, without } from './obstacles.js';
import { ABORT_MS, settled } from './taking-turns.js';
import { testsOver, testsOverStore } from './tests-over.js';

export const describeWaiting = (target: AdapterUnderTest): void => {
  const publishes = without(target, 'publish');

  const describeRules = (
    test: (title: string, body: (instance: Instance, other: Pick<Opened, 'adapter'>) => Promise<void>) => void,
  ): void => {
    test('can be aborted, and calls onWait() at most once', async (instance, { adapter }) => {
      const { publication, resume } = await beginToPublish(instance.adapter);
      const controller = new AbortController();
      const { signal } = controller;
      let waits = 0;
      const onWait = () => void waits++;
      const next = adapter.publish!(anotherDataset(THIRD, THIRD_CREATED), { signal, onWait });
      const outcome = await settled(next);
      controller.abort();
      try {
        if (outcome === 'pending') {
          const rejected = failsWith(['aborted', 'conflict'], () => next);
          await within('publish() rejects after its signal is aborted', rejected, ABORT_MS);
        }
        assert(waits <= 1, `expected at most one call of onWait(), found ${waits}`);
      } finally {
        resume();
        await publication;
      }
      if (outcome !== 'fulfilled') await hasItems(instance, itemsOf(SECOND));
    });

    test('rejects when its adapter is closed, and is never made', async (instance, { adapter }) => {
      const { publication, resume } = await beginToPublish(instance.adapter);
      const first = Promise.allSettled([publication]);
      const next = adapter.publish!(anotherDataset(THIRD, THIRD_CREATED));
      const outcome = await settled(next);
      const closing = adapter.close();
      const isClosed = (await settled(closing)) === 'fulfilled';
      const isOwn = adapter === instance.adapter;
      if (isClosed && outcome === 'pending' && !isOwn) {
        await within('publish() rejects after its adapter is closed', Promise.allSettled([next]), ABORT_MS);
      }
      resume();
      // Closing the other adapter must not end the first publication. The exception is a second publication that has
      // succeeded: the first one then rejects with conflict.
      if (!isOwn && outcome !== 'fulfilled') await publication;
      await first;
      await closing;
      const last = await within('publish() rejects after its adapter is closed', Promise.allSettled([next]), ABORT_MS);
      if (outcome === 'fulfilled') return;
      if (isClosed) sameValue(last[0].status, 'rejected', 'the publication to reject after close() has resolved');
      if (isOwn || last[0].status === 'fulfilled') return;
      await delay(100);
      await hasItems(instance, itemsOf(SECOND));
    });

    test('is made or rejected with conflict if the other one fails, and so are later ones', async (instance, {
      adapter,
    }) => {
      const { publication, resume } = await beginToPublish(
        instance.adapter,
        brokenDataset(new Error('the file ends too early')),
      );
      const first = Promise.allSettled([publication]);
      const waiting = [
        adapter.publish!(anotherDataset(THIRD, THIRD_CREATED)),
        adapter.publish!(brokenDataset(new Error('the file is not JSON'), FOURTH)),
      ];
      await settled(Promise.allSettled(waiting));
      resume();
      await first;
      const [next] = await Promise.allSettled(waiting);
      if (next!.status === 'fulfilled') await hasItems({ adapter }, itemsOf(THIRD));
      else await failsWith('conflict', () => waiting[0]);
      await failsWith(['invalid_dataset', 'conflict'], () => waiting[1]);
      for (const [version, each] of [[FOURTH, adapter] as const, [SECOND, instance.adapter] as const]) {
        await each.publish!(anotherDataset(version, FOURTH_CREATED));
        await hasItems({ adapter: each }, itemsOf(version));
      }
    });
  };

  describe('a publication that waits for another one', () => {
    describeRules((title, body) =>
      testsOverStore(target)(publishes || isExclusive(target), title, async (instance) =>
        body(instance, await instance.another()),
      ),
    );
  });

  describe('a publication that waits for another one of its adapter', () => {
    describeRules((title, body) => testsOver(target, publishes)(title, (instance) => body(instance, instance)));
  });
};
