/** Tests the publication times of stores with and without versions. */
import assert from 'node:assert/strict';
import type { AdapterUnderTest } from './adapter-under-test.js';
import { anotherDataset, FIRST_CREATED, SECOND, THIRD, THIRD_CREATED } from './fixture.js';
import { publicationTime } from './instance.js';
import { without } from './obstacles.js';
import { testsOver } from './tests-over.js';
import { DAY_MS } from './times.js';

/** A time that the clock has not reached. */
const FUTURE_CREATED = '2100-01-01T00:00:00.000Z';

export const describePublicationTimes = (target: AdapterUnderTest): void => {
  const test = testsOver(target, without(target, 'publish'));

  describe('publish(dataset)', () => {
    test('uses the current time as publication time if the previous version is not older than the dataset', async (instance) => {
      const { clock } = instance;
      for (const [version, created] of [
        ['same-age', FIRST_CREATED],
        ['older', '2023-01-01T00:00:00.000Z'],
      ] as const) {
        clock.offset += DAY_MS;
        const before = clock.now();
        await instance.adapter.publish!(anotherDataset(version, created));
        const publishedAt = publicationTime(instance);
        // The clock of the store can differ slightly from the clock of this process.
        const now = publishedAt >= before - 5000 && publishedAt <= clock.now() + 5000;
        assert(now, `${version}: published at ${new Date(publishedAt).toISOString()}`);
      }
    });

    test('uses a later publication time than that of the previous version, even if the clock is earlier', async (instance) => {
      await instance.adapter.publish!(anotherDataset(SECOND, FUTURE_CREATED));
      await instance.adapter.publish!(anotherDataset(THIRD, THIRD_CREATED));
      const publishedAt = publicationTime(instance);
      const isLater = publishedAt > Date.parse(FUTURE_CREATED);
      assert(isLater, `expected publishedAt after ${FUTURE_CREATED}, found ${new Date(publishedAt).toISOString()}`);
    });
  });
};
