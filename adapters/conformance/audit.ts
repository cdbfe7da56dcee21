/** Tests that the audit records every change, and that verification detects missing entries. */
import type { Document } from 'metro-forecast-api/adapter';
import type { AdapterUnderTest } from './adapter-under-test.js';
import { sameList, sameValue } from './expect.js';
import {
  anotherDataset,
  datasetOf,
  FIRST,
  FIRST_CREATED,
  FOURTH,
  FOURTH_CREATED,
  SECOND,
  SECOND_CREATED,
  THIRD,
  THIRD_CREATED,
} from './fixture.js';
import { type Instance, publishTwo } from './instance.js';
import { isExclusive, without } from './obstacles.js';
import { testsOver } from './tests-over.js';

const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/;
const ABSENT = '0'.repeat(64);
const MANY = 130;
/** Time limit in milliseconds. On a slow store, the test publishes fewer than `MANY` versions. */
const MANY_MS = 5000;
/** Maximum difference between the clocks of the store and of this process, in milliseconds. */
const CLOCK_MS = 60_000;

export const describeAudit = (target: AdapterUnderTest): void => {
  const obstacle = without(target, 'audit') || without(target, 'publish');
  const test = testsOver(target, obstacle);
  const testVersions = testsOver(target, obstacle || without(target, 'versions'));
  const testSeveral = testsOver(target, obstacle || isExclusive(target));

  const entriesOf = ({ adapter }: Pick<Instance, 'adapter'>) => adapter.audit!.list();
  const since = async (instance: Instance, before: number) =>
    (await entriesOf(instance)).slice(before).map(({ action, version, replaces }) => ({ action, version, replaces }));
  const isWhole = async (instance: Instance): Promise<void> => {
    const entries = await entriesOf(instance);
    const { chained, faults } = await instance.adapter.audit!.verify();
    sameList(faults, [], 'verify() to find no errors');
    const wrong = entries.filter(({ action, replaces }) => (action === 'prune') !== (replaces === undefined));
    sameList(wrong, [], 'each entry to have `replaces` unless it is a deletion');
    sameValue(chained >= entries.length, true, 'verify() to count all entries');
    // verify() counts the entries of failed changes, but list() omits them. The hashes of the listed entries then do
    // not form a chain.
    if (chained > entries.length) return;
    sameList(
      entries.map(({ previous = null }) => previous),
      entries.map((_entry, i) => entries[i - 1]?.hash ?? null),
      'each entry to contain the hash of the previous one',
    );
  };

  describe('audit', () => {
    test('list() includes each publication with the version it replaced, its time and its user', async (instance) => {
      const before = (await entriesOf(instance)).length;
      await publishTwo(instance);
      sameList(
        await since(instance, before),
        [
          { action: 'publish', version: SECOND, replaces: FIRST },
          { action: 'publish', version: THIRD, replaces: SECOND },
        ],
        'list() to have both publications, oldest first',
      );
      const { time, by } = (await entriesOf(instance)).at(-1)!;
      sameValue(TIME.test(time), true, `the time of an entry, ${time}, to be in UTC`);
      const isNow = Math.abs(Date.parse(time) - Date.now()) < CLOCK_MS;
      sameValue(isNow, true, `the time of an entry, ${time}, to be the time of the change`);
      sameValue(typeof by === 'string' && by !== '', true, 'an entry to name the user who made the change');
      await isWhole(instance);
    });

    test('list() returns an entry for each of many publications', async (instance) => {
      const names = (await entriesOf(instance)).map(({ version }) => version);
      const end = performance.now() + MANY_MS;
      while (names.length < MANY && performance.now() < end) {
        const name = `v-${names.length}`;
        const created = new Date(Date.UTC(2025, 0, 1 + names.length)).toISOString();
        await instance.adapter.publish!(datasetOf(name, created, { items: [] }));
        names.push(name);
      }
      const listed = (await since(instance, 0)).map(({ version }) => version);
      sameList(listed, names, 'list() to have every publication, oldest first');
      await isWhole(instance);
    });

    test('list() includes no publication that was rejected or interrupted', async (instance) => {
      const before = (await entriesOf(instance)).length;
      const broken = { ...anotherDataset(), read: () => breaksOff() };
      await instance.adapter.publish!(broken).catch(() => undefined);
      await instance.adapter.publish!(anotherDataset(FIRST, FIRST_CREATED)).catch(() => undefined);
      sameList(await since(instance, before), [], 'list() to have no entry for the failed publication');
      await isWhole(instance);
    });

    testVersions(
      'list() includes each activation with the version it replaced, and each deletion',
      async (instance) => {
        const { adapter } = instance;
        await publishTwo(instance);
        const before = (await entriesOf(instance)).length;
        await adapter.versions!.activate(FIRST);
        await adapter.versions!.activate('is-not-there').catch(() => undefined);
        await adapter.publish!(anotherDataset(FOURTH, FOURTH_CREATED));
        const pruned = await adapter.versions!.prune(0);
        const [activated, published, ...deleted] = await since(instance, before);
        sameValue(activated, { action: 'activate', version: FIRST, replaces: THIRD }, 'the entry of the activation');
        const fourth = { action: 'publish', version: FOURTH, replaces: FIRST };
        sameValue(published, fourth, 'the entry of the publication after it');
        sameList(
          deleted.map(({ action, version }) => `${action} ${version}`).sort(),
          pruned.map((version) => `prune ${version}`).sort(),
          'an entry for each deleted version, and no other',
        );
        await isWhole(instance);
      },
    );

    testVersions('list() includes no activation of the version that is already current', async (instance) => {
      const before = (await entriesOf(instance)).length;
      await instance.adapter.versions!.activate(FIRST);
      sameList(await since(instance, before), [], 'list() to have no new entry');
      await isWhole(instance);
    });

    testVersions('verify() finds no errors after any change', async (instance) => {
      const { adapter } = instance;
      await publishTwo(instance);
      const changes = [
        () => adapter.versions!.activate(FIRST),
        () => adapter.versions!.activate(SECOND),
        () => adapter.versions!.prune(0),
        () => adapter.publish!(anotherDataset(FIRST, FOURTH_CREATED)),
        () => adapter.versions!.activate(SECOND),
        () => adapter.versions!.prune(0),
      ];
      for (const change of changes) {
        await change();
        await isWhole(instance);
      }
    });

    test('verify() returns the hash of the newest entry, and reports a missing entry', async (instance) => {
      const { adapter } = instance;
      await adapter.publish!(datasetOf(SECOND, SECOND_CREATED));
      const { head } = await adapter.audit!.verify();
      sameValue(head, (await entriesOf(instance)).at(-1)?.hash ?? null, 'the hash of the newest entry');
      await adapter.publish!(datasetOf(THIRD, THIRD_CREATED));
      sameList((await adapter.audit!.verify(head!)).faults, [], 'verify() to find an existing entry');
      sameValue((await adapter.audit!.verify(ABSENT)).faults.length, 1, 'errors for a missing entry');
    });

    testSeveral('is one chain for all adapters over the same store', async (instance) => {
      const before = (await entriesOf(instance)).length;
      await instance.adapter.publish!(datasetOf(SECOND, SECOND_CREATED));
      const other = await instance.another();
      await other.adapter.publish!(datasetOf(THIRD, THIRD_CREATED));
      await instance.adapter.publish!(datasetOf(FOURTH, FOURTH_CREATED));
      const told = [SECOND, THIRD, FOURTH].map((version) => `publish ${version}`);
      for (const { adapter } of [instance, other]) {
        const entries = (await entriesOf({ adapter })).slice(before);
        sameList(
          entries.map(({ action, version }) => `${action} ${version}`),
          told,
          'the entries of both adapters',
        );
      }
      await isWhole(instance);
    });
  });
};

async function* breaksOff(): AsyncGenerator<readonly Document[]> {
  yield [];
  throw new Error('The rows end here.');
}
