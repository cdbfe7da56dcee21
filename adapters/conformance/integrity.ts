/** Tests that `checkIntegrity()` finds no errors in a valid store. */
import type { AdapterUnderTest } from './adapter-under-test.js';
import { isEmpty } from './expect.js';
import { brokenDataset, FIRST } from './fixture.js';
import { type Opened, publishTwo, withSnapshot } from './instance.js';
import { skip, standsAlone, without } from './obstacles.js';
import { testsOver } from './tests-over.js';

const isIntact = async ({ adapter }: Pick<Opened, 'adapter'>, when: string): Promise<void> => {
  for (const full of [false, true]) isEmpty(await adapter.checkIntegrity!(full), `no errors ${when}, full: ${full}`);
};

export const describeIntegrity = (target: AdapterUnderTest): void => {
  describe('checkIntegrity()', () => {
    testsOver(target, without(target, 'publish'))('finds no errors after any change', async (instance, running) => {
      const { adapter } = instance;
      if (!adapter.checkIntegrity) skip(running, 'the adapter has no `checkIntegrity`');
      await isIntact(instance, 'after a publication');
      await publishTwo(instance);
      await withSnapshot(instance, async () => {
        await adapter.versions?.activate(FIRST);
        await adapter.versions?.prune(0);
        await isIntact(instance, 'after a deletion, while a version is held');
      });
      await adapter.publish!(brokenDataset(new Error('the file ends too early'), 'broken')).catch(() => {});
      await isIntact(instance, 'after a publication that failed');
      if (standsAlone(target)) return;
      await adapter.close();
      await isIntact(await instance.another(), 'after reopening');
    });
  });
};
