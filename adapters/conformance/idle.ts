/** Tests that an adapter that has been idle still notices changes in time. */
import { setTimeout as delay } from 'node:timers/promises';
import type { AdapterUnderTest } from './adapter-under-test.js';
import { anotherDataset, SECOND } from './fixture.js';
import { changedTo, followMs, type Instance, type Opened, startInstance } from './instance.js';
import { isUnnoticed, itUnless, without } from './obstacles.js';

/** Starts the idle adapter before the other tests run. Returns a function that defines the test. */
export const startIdle = (target: AdapterUnderTest): (() => void) => {
  const obstacle = isUnnoticed(target) || without(target, 'publish');
  // Adapters that poll less often while they are idle exceed the limit only after a while.
  const idleMs = 2.5 * followMs(target);
  let idle: Promise<{ instance: Instance; other: Opened; since: number }> | undefined;
  const start = async () => {
    const instance = await startInstance(target);
    return { instance, other: await instance.another(), since: performance.now() };
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
      itUnless(obstacle, 'notice a change after a while without changes', async () => {
        const { instance, other, since } = await idle!;
        await delay(Math.max(0, since + idleMs - performance.now()));
        const before = other.changes.length;
        await instance.adapter.publish!(anotherDataset());
        await changedTo(target, [SECOND], other, before);
      });
    });
};
