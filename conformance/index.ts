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
 * The rules are those of `core/contracts/storage.ts`, written out in `docs/storage-contract.md`. A test's title is the
 * rule that it proves; its message shows what was asked. With `fast-check` installed, the suite compares the adapter with
 * a reference over generated queries and datasets besides, and shows the smallest that differs.
 */
import type { AdapterUnderTest } from './adapter-under-test.js';
import { describeCancelling } from './cancelling.js';
import { describeFind } from './find.js';
import { allCollections, allRows, datasetOf, FIRST, FIRST_CREATED } from './fixture.js';
import { describeGeneratedDatasets, describeGeneratedQueries } from './generated.js';
import { describeGet } from './get.js';
import { type Instance, startInstance } from './instance.js';
import { describeInstances } from './instances.js';
import { describeIsolation } from './isolation.js';
import { describeLifecycle } from './lifecycle.js';
import { describeMany } from './many.js';
import { describeOtherProcess } from './other-process.js';
import { describePublishing } from './publishing.js';
import { describeHandingOver, describeSharing } from './sharing.js';
import { targets } from './targets.js';
import { describeValues } from './values.js';
import { describeVersions } from './versions.js';

export type { AdapterUnderTest } from './adapter-under-test.js';

/** Each over one adapter with a large dataset, which is published once. */
const READING = [
  describeGet,
  describeFind,
  describeValues,
  describeMany,
  describeSharing,
  describeCancelling,
  describeGeneratedQueries,
];

/** Defines the tests of one adapter, by mocha's global `describe` and `it`. */
export const describeAdapter = (target: AdapterUnderTest): void => {
  if (targets.take) {
    targets.take(target);
    return;
  }
  describe(`the storage adapter ${target.name}`, function () {
    describeIsolation(target);
    describeLifecycle(target);

    describe('reading', () => {
      let instance: Instance;
      before(async function () {
        this.timeout(60_000);
        instance = await startInstance(target, datasetOf(FIRST, FIRST_CREATED, allRows()), allCollections);
      });
      after(() => instance?.stop());

      for (const describeReads of READING) describeReads(() => instance);
    });

    describeHandingOver(target);
    describePublishing(target);
    describeGeneratedDatasets(target);
    describeVersions(target);
    describeInstances(target);
    describeOtherProcess(target, this.file);
  });
};
