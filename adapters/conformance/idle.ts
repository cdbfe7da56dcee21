/** Tests that an adapter that has been idle still notices changes in time. */
import { setTimeout as delay } from 'node:timers/promises';
import type { AdapterUnderTest } from './adapter-under-test.js';
import { anotherDataset, SECOND } from './fixture.js';
import { changedTo, followMs, startInstance } from './instance.js';
import { isUnnoticed, itUnless, skip, without } from './obstacles.js';
import { mightStandAlone } from './tests-over.js';

/** Starts the idle adapter before the other tests run. Returns a function that defines the test. */
export const startIdle = (target: AdapterUnderTest): (() => void) => {
  const obstacle = isUnnoticed(target) || without(target, 'publish');
  // Adapters that poll less often while they are idle exceed the limit only after a while.
  const idleMs = 2.5 * followMs(target);
  let idle: ReturnType<typeof start> | undefined;
  const start = async () => {
    const instance = await startInstance(target);
    try {
      const alone = await mightStandAlone(target, instance);
      return { instance, alone, other: alone ? instance : await instance.another(), since: performance.now() };
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
  return () =>
    describe('several adapters over the same store', () => {
      itUnless(obstacle, 'notice a change after a while without changes', async function () {
        const { instance, alone, other, since } = await idle!;
        if (alone) skip(this, alone);
        await delay(Math.max(0, since + idleMs - performance.now()));
        const before = other.changes.length;
        await instance.adapter.publish!(anotherDataset());
        await changedTo(target, [SECOND], other, before);
      });
    });
};
