/** Tests that an aborted publication either succeeds or changes nothing. */
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Dataset } from 'metro-forecast-api/adapter';
import type { AdapterUnderTest } from './adapter-under-test.js';
import { failsWith } from './expect.js';
import { anotherDataset, collections, FIRST, itemsOf, rows, SECOND, SECOND_CREATED } from './fixture.js';
import { hasItems, hasVersion, type Instance } from './instance.js';
import { without } from './obstacles.js';
import { testsOver } from './tests-over.js';

/** Number of batches that `publish()` may read after its signal was aborted. */
const MOST_BATCHES = 2000;

/** Numbers of event loop turns between reading the last row and aborting the publication. */
const TURNS = [0, 1, 2, 3, 5, 10, 20];

export const observedDataset = (pause: () => Promise<void> | void, whole = anotherDataset()): Dataset => ({
  ...whole,
  async *read(collection) {
    yield* whole.read(collection);
    await pause();
  },
});

const endingWith = (act: () => void, whole = anotherDataset()): Dataset => {
  let read = 0;
  return observedDataset(() => {
    if (++read === collections.size) act();
  }, whole);
};

export const nothingChanged = async (instance: Instance): Promise<void> => {
  hasVersion(instance, FIRST);
  await hasItems(instance, rows['items']!);
};

export const describeAborting = (target: AdapterUnderTest): void => {
  const test = testsOver(target, without(target, 'publish'));

  describe('publish(dataset)', () => {
    test('rejects with aborted when its signal is aborted, and changes nothing', async (instance) => {
      const controller = new AbortController();
      const dataset = observedDataset(() => controller.abort(new TypeError('no longer wanted')));
      await failsWith('aborted', () => instance.adapter.publish!(dataset, { signal: controller.signal }));
      await nothingChanged(instance);
      await failsWith('aborted', () => instance.adapter.publish!(anotherDataset(), { signal: AbortSignal.abort() }));
      await nothingChanged(instance);
    });

    test('works again after it was aborted, under the same version and with another signal', async (instance) => {
      const controller = new AbortController();
      const dataset = observedDataset(() => controller.abort());
      await instance.adapter.publish!(dataset, { signal: controller.signal }).catch(() => {});
      await instance.adapter.publish!(anotherDataset(), { signal: new AbortController().signal });
      await hasItems(instance, itemsOf(SECOND));
    });

    test('rejects with aborted when its signal is aborted after the last row, and changes nothing', async (instance) => {
      const controller = new AbortController();
      const dataset = endingWith(() => controller.abort());
      await failsWith('aborted', () => instance.adapter.publish!(dataset, { signal: controller.signal }));
      await nothingChanged(instance);
    });

    test('stops reading when its signal is aborted, even if its collection has more rows', async (instance) => {
      const controller = new AbortController();
      const whole = anotherDataset();
      const endless: Dataset = {
        ...whole,
        async *read(collection) {
          yield* whole.read(collection);
          if (collection !== 'nothing') return;
          controller.abort();
          for (let i = 0; i < MOST_BATCHES; i++) {
            await nextTurn();
            yield [{ id: String(1e6 + i) }];
          }
          throw new Error('all rows were read');
        },
      };
      await failsWith('aborted', () => instance.adapter.publish!(endless, { signal: controller.signal }));
      await nothingChanged(instance);
    });

    test('succeeds or changes nothing, at whatever time its signal is aborted', async (instance) => {
      const { adapter, changes } = instance;
      let current = FIRST;
      for (const [i, turns] of [...TURNS, Infinity].entries()) {
        const controller = new AbortController();
        const { signal } = controller;
        const version = `turn-${i}`;
        const before = changes.length;
        let isSettled = false;
        // `Infinity` aborts the publication only after its version has become current.
        const abort = async () => {
          for (let n = 0; n < turns && changes.length === before && !isSettled; n++) await nextTurn();
          controller.abort();
        };
        const dataset = anotherDataset(version, new Date(Date.parse(SECOND_CREATED) + i).toISOString());
        const publication = adapter.publish!(
          endingWith(() => void abort(), dataset),
          { signal },
        );
        const [settled] = await Promise.allSettled([publication]);
        isSettled = true;
        if (settled.status === 'fulfilled') current = version;
        else await failsWith('aborted', () => publication);
        hasVersion(instance, current);
      }
    });
  });
};
