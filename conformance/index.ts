/**
 * The conformance suite: the whole contract of a storage adapter as mocha tests, for any adapter.
 *
 * A complete test file, to be run by `mocha`:
 *
 *     import { describeAdapter } from 'metro-forecast-api/conformance';
 *     import adapter from '../index.js';
 *
 *     const create = (context) => adapter.create({ path: 'store.db' }, context);
 *
 *     describeAdapter({
 *       name: adapter.name,
 *       capabilities: adapter.capabilities,
 *       async create(dataset, context) {
 *         const store = create(context);
 *         await store.open();
 *         await store.publish(dataset);
 *         return store;
 *       },
 *       createEmpty: create,
 *     });
 *
 * Beyond what `core/contracts/storage.ts` says, the suite holds adapters to these rules:
 * - `open()` may be called again; after `close()` everything else fails with `closed`, `open()` included.
 * - Documents that are handed out are read-only for everybody; adapters need not copy or freeze them.
 * - A publication's time is `created` of its manifest, or now where the current snapshot is not older than that.
 * - Publishing a version that is there with other content, or while somebody else publishes, is a `conflict`.
 * - `activate()` is an event of its own: `asOf()` a time before it answers with what was current before it.
 */
import type { AdapterUnderTest } from './adapter-under-test.js';
import { describeCancelling } from './cancelling.js';
import { describeFind } from './find.js';
import { datasetOf, FIRST, FIRST_CREATED, rowsWithCrowd } from './fixture.js';
import { describeGet } from './get.js';
import { type Instance, startInstance } from './instance.js';
import { describeIsolation } from './isolation.js';
import { describeLifecycle } from './lifecycle.js';
import { describeMany } from './many.js';
import { describePublishing } from './publishing.js';
import { describeValues } from './values.js';
import { describeVersions } from './versions.js';

export type { AdapterUnderTest } from './adapter-under-test.js';

/** Defines the tests of one adapter, by mocha's global `describe` and `it`. */
export const describeAdapter = (target: AdapterUnderTest): void => {
  describe(`the storage adapter ${target.name}`, () => {
    describeIsolation(target);
    describeLifecycle(target);

    describe('reading', () => {
      let instance: Instance;
      before(async function () {
        this.timeout(60_000);
        instance = await startInstance(target, datasetOf(FIRST, FIRST_CREATED, rowsWithCrowd()));
      });
      after(() => instance?.stop());

      for (const describeReads of [describeGet, describeFind, describeValues, describeMany, describeCancelling]) {
        describeReads(() => instance);
      }
    });

    describePublishing(target);
    describeVersions(target);
  });
};
