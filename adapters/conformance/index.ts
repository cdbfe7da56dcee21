/**
 * The conformance suite: mocha tests that cover the whole adapter contract.
 *
 * This is a complete test file for mocha:
 *
 *     import { describeAdapter } from 'metro-forecast-api/conformance';
 *     import adapter from '../../index.js';
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
 * `docs/reference/adapter-contract.md` lists the rules. The title of each test is the rule that it proves. A failing
 * test shows the query, the expected result and the actual result. If `fast-check` is installed, the suite also
 * generates queries, datasets and sequences of changes. It compares the results with a reference implementation, and
 * shows the smallest counterexample.
 */
import { describeAborting } from './aborting.js';
import { type AdapterUnderTest, targets } from './adapter-under-test.js';
import { describeAudit } from './audit.js';
import { describeCancelling } from './cancelling.js';
import { describeClosedChanges } from './closed-changes.js';
import { describeCrashes } from './crashes.js';
import { slowness } from './expect.js';
import { describeFind, describeFindAll } from './find.js';
import { describeFindJson } from './find-json.js';
import { describeFindPages } from './find-pages.js';
import {
  allCollections,
  allRows,
  allRowsWithCrowd,
  datasetOf,
  FIRST,
  FIRST_CREATED,
  type Rows,
  useLimits,
} from './fixture.js';
import { describeChanged, describeFollowing } from './following.js';
import { describeFollowingMeanwhile } from './following-meanwhile.js';
import { describeGeneratedDatasets } from './generated.js';
import { describeGet, describeGetByKey } from './get.js';
import { describeGroupValues } from './group-values.js';
import { describeHistory } from './history.js';
import { startIdle } from './idle.js';
import { type Instance, startInstance } from './instance.js';
import { describeInstances } from './instances.js';
import { describeIntegrity } from './integrity.js';
import { describeInterrupted } from './interrupted.js';
import { describeIsolation } from './isolation.js';
import { describeLifecycle } from './lifecycle.js';
import { describeLimits } from './limits.js';
import { describeMany } from './many.js';
import { describeMoves } from './moves.js';
import { describeOtherProcess } from './other-process.js';
import { describePruning } from './pruning.js';
import { describePruningMeanwhile } from './pruning-meanwhile.js';
import { describePublicationTimes } from './publication-times.js';
import { describePublishing } from './publishing.js';
import { describeRacing } from './racing.js';
import { describeRandomReads } from './random-reads.js';
import { describeReadingMeanwhile } from './reading-meanwhile.js';
import { describeReopening } from './reopening.js';
import { describeRepair } from './repair.js';
import { describeResources } from './resources.js';
import { describeSameSize } from './same-size.js';
import { describeSequences } from './sequences.js';
import { describeHandingOver, describeSharing } from './sharing.js';
import { describeSimilar } from './similar.js';
import { processesOf } from './start-process.js';
import { describeTakingTurns } from './taking-turns.js';
import { withTimeLimits } from './time-limits.js';
import { describeTimes } from './times.js';
import { describeSearch, describeTotals } from './totals.js';
import { describeUnnoticed } from './unnoticed.js';
import { describeValues } from './values.js';
import { describeVersions } from './versions.js';
import { describeWaiting } from './waiting.js';

export type { AdapterUnderTest } from './adapter-under-test.js';
export { describeKeyStore, type KeyStoreUnderTest } from './key-store.js';

/** The timeout of a mocha test, which is longer than the time limits of single calls. */
const TIMEOUT_MS = 120_000;

/** Groups of tests that share one adapter, so that the dataset is published only once. */
const READING: readonly ((instance: () => Instance, target: AdapterUnderTest) => void)[] = [
  describeGet,
  describeFindAll,
  describeValues,
  describeGetByKey,
  describeFind,
  describeFindPages,
  describeGroupValues,
  describeSharing,
];
const READING_MUCH = [describeMany, describeCancelling];

const describeReading = (target: AdapterUnderTest, title: string, content: () => Rows, reads: typeof READING): void => {
  describe(title, () => {
    let instance: Instance | undefined;
    let cause: unknown;
    before(async () => {
      try {
        instance = await startInstance(target, datasetOf(FIRST, FIRST_CREATED, content()), allCollections);
      } catch (error) {
        cause = error;
      }
    });
    after(() => instance?.stop());
    const started = (): Instance => {
      if (!instance) throw cause;
      return instance;
    };

    it('starts with a publication of all rows within the limits of the adapter', () => void started());
    for (const describeReads of reads) describeReads(started, target);
  });
};

/**
 * Defines mocha tests for all rules of the adapter contract. Call it at the top level of a test file. It uses the
 * globals `describe`, `it`, `before` and `after`.
 */
export const describeAdapter = (adapter: AdapterUnderTest): void => {
  if (targets.take) {
    targets.take(adapter);
    return;
  }
  const target = withTimeLimits(adapter);
  // The test of a basic rule comes before tests that depend on the rule, so that the first failure names the cause.
  describe(`the storage adapter ${target.name}`, function () {
    this.timeout(TIMEOUT_MS * slowness());
    before(() => useLimits(target.capabilities.limits));
    const processes = processesOf(target, this.file);
    const describeIdle = startIdle(target);
    describeReading(target, 'reading', allRows, READING);
    describeReading(target, 'reading from a large dataset', allRowsWithCrowd, READING_MUCH);
    describeIsolation(target);
    describeReadingMeanwhile(target);
    describeLifecycle(target);
    describeFindJson(target);
    describeTotals(target);
    describeSearch(target);
    describeRandomReads(target);
    describePublishing(target);
    describePublicationTimes(target);
    describeAborting(target);
    describeSimilar(target);
    describeHandingOver(target);
    describeLimits(target);
    describeVersions(target);
    describePruning(target);
    describePruningMeanwhile(target);
    describeTimes(target);
    describeReopening(target);
    describeMoves(target);
    describeChanged(target);
    describeInstances(target);
    describeUnnoticed(target);
    describeInterrupted(target);
    describeClosedChanges(target);
    describeRepair(target);
    describeIntegrity(target);
    describeRacing(target);
    describeAudit(target);
    describeHistory(target);
    describeResources(target, processes);
    describeFollowing(target);
    describeFollowingMeanwhile(target);
    describeSameSize(target);
    describeTakingTurns(target);
    describeWaiting(target);
    describeOtherProcess(target, processes);
    describeCrashes(target, processes);
    describeGeneratedDatasets(target);
    describeSequences(target, processes);
    describeIdle();
  });
};
