/** Tests changes during a publication, which can wait until it ends. Both can use the same adapter. */
import assert from 'node:assert/strict';
import { setTimeout as delay } from 'node:timers/promises';
import type { StorageAdapter, StorageErrorCode } from 'metro-forecast-api/adapter';
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
import { beginToPublish, hasItems, hasVersion, type Instance, type Opened, versionOf } from './instance.js';
import { isExclusive, without } from './obstacles.js';
import { ABORT_MS, settled } from './taking-turns.js';
import { testsOver, testsOverStore } from './tests-over.js';

/** Milliseconds after which a change has started to wait for the publication, unless it has been made. */
const START_MS = 20;

/** How a publication can end. */
const ENDS = ['succeeds', 'fails', 'is aborted', 'is closed'] as const;
type End = (typeof ENDS)[number];

/** The changes that are made during a publication. */
const CHANGES = ['activate', 'prune', 'publish'] as const;

const createdOf = (i: number): string => new Date(Date.UTC(2025, 0, 1, 0, i)).toISOString();

/** Begins a publication. `end()` ends it, and resolves when it has settled. */
const beginWith = async (adapter: StorageAdapter, end: End, version: string, i: number) => {
  const controller = new AbortController();
  const whole = anotherDataset(version, createdOf(i));
  const dataset = end === 'fails' ? { ...whole, read: brokenDataset(new Error('it is damaged')).read } : whole;
  const { publication, resume } = await beginToPublish(adapter, dataset, controller.signal);
  const settling = Promise.allSettled([publication]);
  return async () => {
    if (end === 'is aborted') controller.abort();
    const closing = end === 'is closed' ? adapter.close() : undefined;
    resume();
    await closing;
    return (await settling)[0].status;
  };
};

/**
 * Makes each change during a publication that ends in each way. The change must settle. If the publication has not
 * succeeded, the change has its effect or is rejected. Later changes must succeed.
 * @param open returns the adapter that publishes and the adapter that makes the change
 */
const changeDuring = async (
  { adapter }: Pick<Opened, 'adapter'>,
  ends: readonly End[],
  open: (end: End) => Promise<readonly [StorageAdapter, StorageAdapter]>,
): Promise<void> => {
  const rounds = ends.flatMap((end) => CHANGES.map((change) => ({ end, change })));
  for (const [n, { end, change }] of rounds.entries()) {
    if (change !== 'publish' && !adapter.versions) continue;
    const i = 3 * n;
    const previous = versionOf(adapter);
    await adapter.publish!(anotherDataset(`before-${n}`, createdOf(i)));
    const [publisher, other] = await open(end);
    const finish = await beginWith(publisher, end, `during-${n}`, i + 1);
    const next = anotherDataset(`next-${n}`, createdOf(i + 2));
    const acts = {
      activate: () => other.versions!.activate(previous),
      prune: () => other.versions!.prune(1),
      publish: () => other.publish!(next),
    };
    const changing = Promise.allSettled([acts[change]()]);
    await delay(START_MS);
    const published = await finish();
    const [changed] = await changing;
    const codes: readonly StorageErrorCode[] = end === 'is closed' ? ['conflict', 'closed'] : ['conflict'];
    if (changed!.status === 'rejected') await failsWith(codes, () => Promise.reject(changed!.reason));
    else if (published === 'rejected' && change !== 'prune') {
      const isClosed = publisher === other && end === 'is closed';
      if (!isClosed) hasVersion({ adapter: other }, change === 'activate' ? previous : `next-${n}`);
    }
  }
  await adapter.publish!(anotherDataset('last', createdOf(rounds.length * 3)));
  await hasItems({ adapter }, itemsOf('last'));
};

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

  describe('a change during a publication', () => {
    const title = (whose: string) =>
      `of ${whose} settles, whether the publication succeeds, fails, or is aborted or closed, and so do later changes`;

    testsOver(target, publishes)(title('the same adapter'), async (instance) => {
      const ends = ENDS.filter((end) => end !== 'is closed' || !isExclusive(target));
      await changeDuring(instance, ends, async (end) => {
        const { adapter } = end === 'is closed' ? await instance.another() : instance;
        return [adapter, adapter];
      });
    });
    testsOverStore(target)(publishes || isExclusive(target), title('another adapter'), async (instance) => {
      const other = await instance.another();
      await changeDuring(instance, ENDS, async (end) => {
        const { adapter } = end === 'is closed' ? await instance.another() : instance;
        return [adapter, other.adapter];
      });
    });
  });
};
