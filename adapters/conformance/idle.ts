/** Tests that an adapter that has been idle still notices changes in time, and keeps the versions that it holds. */
import { setTimeout as delay } from 'node:timers/promises';
import type { AdapterUnderTest } from './adapter-under-test.js';
import { sameValue } from './expect.js';
import { anotherDataset, FIRST, rows, SECOND, THIRD, THIRD_CREATED } from './fixture.js';
import { changedTo, followMs, readsItems, startInstance } from './instance.js';
import { isUnnoticed, itUnless, skip, without } from './obstacles.js';
import { mightStandAlone } from './tests-over.js';

/** Starts the idle adapter before the other tests run. Returns a function that defines the tests. */
export const startIdle = (target: AdapterUnderTest): (() => void) => {
  const obstacle = isUnnoticed(target) || without(target, 'publish');
  // Some adapters poll less often after they have been idle for a while. Such adapters must still meet the time limit.
  const idleMs = 2.5 * followMs(target);
  let idle: ReturnType<typeof start> | undefined;
  const start = async () => {
    const instance = await startInstance(target);
    try {
      const alone = await mightStandAlone(target, instance);
      const other = alone ? instance : await instance.another();
      return { instance, alone, other, held: other.adapter.snapshot(), since: performance.now() };
    } catch (error) {
      await instance.stop();
      throw error;
    }
  };

  if (!obstacle) {
    before(() => {
      idle = start();
      idle.catch(() => {});
    });
    after(async () => (await idle?.catch(() => undefined))?.instance.stop());
  }
  const afterWhile = async (running: Mocha.Context) => {
    const { alone, since, ...adapters } = await idle!;
    if (alone) skip(running, alone);
    await delay(Math.max(0, since + idleMs - performance.now()));
    return adapters;
  };

  return () =>
    describe('several adapters over the same store', () => {
      itUnless(obstacle, 'notice a change after a while without changes', async function () {
        const { instance, other } = await afterWhile(this);
        const before = other.changes.length;
        await instance.adapter.publish!(anotherDataset());
        await changedTo(target, [SECOND], other, before);
      });

      itUnless(obstacle || without(target, 'versions'), 'keep a version that is held for a while', async function () {
        const { other, held } = await afterWhile(this);
        await other.adapter.publish!(anotherDataset(THIRD, THIRD_CREATED));
        const deleted = await other.adapter.versions!.prune(0);
        sameValue(deleted.includes(FIRST), false, 'prune(0) to keep the held version');
        await readsItems(held, rows['items']!);
      });
    });
};
