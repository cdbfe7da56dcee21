/** Tests that `history` returns everything a backup needs, and that a restore writes it back. */
import assert from 'node:assert/strict';
import { audit, type History } from 'metro-forecast-api/adapter';
import type { AdapterUnderTest } from './adapter-under-test.js';
import { eventually, failsWith, isEmpty, sameList, sameValue } from './expect.js';
import {
  anotherDataset,
  datasetOf,
  FIRST,
  FIRST_CREATED,
  FOURTH_CREATED,
  itemsIn,
  itemsOf,
  rows,
  SECOND,
  THIRD,
  THIRD_CREATED,
} from './fixture.js';
import {
  followMs,
  hasItems,
  hasVersion,
  type Instance,
  listOf,
  publishTwo,
  versionAsOf,
  versionIfAny,
  withSnapshot,
} from './instance.js';
import { isExclusive, isUnnoticed, type Obstacle, skip, standsAlone, without } from './obstacles.js';
import { testsOver } from './tests-over.js';

const { chain, dataAuditEntry, endOf, undoing } = audit;

interface Move {
  readonly version: string | null;
  readonly publishedAt: Date;
}

export const describeHistory = (target: AdapterUnderTest): void => {
  const publishes = without(target, 'publish');
  const versions = publishes || without(target, 'versions');
  const audits = publishes || without(target, 'audit');
  const test = (
    obstacle: Obstacle,
    title: string,
    body: (instance: Instance, history: History) => Promise<void>,
  ): void =>
    testsOver(target, obstacle)(title, async (instance, running) => {
      const { history } = instance.adapter;
      if (!history) skip(running, 'the adapter has no `history`');
      await body(instance, history);
    });

  const movedTo = (instance: Pick<Instance, 'adapter'>): Promise<Move> =>
    withSnapshot(instance, async ({ version, publishedAt }) => ({ version, publishedAt }));
  const makeMoves = async (instance: Instance): Promise<Move[]> => {
    const { adapter } = instance;
    const moves = [await movedTo(instance)];
    await adapter.publish!(anotherDataset());
    moves.push({ ...(await movedTo(instance)), version: null });
    await adapter.publish!(anotherDataset(THIRD, THIRD_CREATED));
    moves.push(await movedTo(instance));
    await adapter.versions!.activate(FIRST);
    moves.push(await movedTo(instance));
    sameList(await adapter.versions!.prune(1), [SECOND], 'prune(1) to keep the newest version and the current one');
    return moves;
  };
  const versionsOf = async (instance: Pick<Instance, 'adapter'>) =>
    (await listOf(instance)).map(({ version, publishedAt }) => ({ version, publishedAt })).reverse();

  const hasMoves = async (instance: Instance, moves: readonly Move[]) => {
    const opened = await instance.another();
    const { version, publishedAt } = moves.at(-1)!;
    sameValue(await movedTo(opened), { version, publishedAt }, 'the current version and its time');
    await hasItems(opened, itemsIn(version!));
    for (const [i, move] of moves.entries()) {
      const time = move.publishedAt.getTime();
      const times = [
        [time - 1, moves[i - 1]?.version],
        [time, move.version],
      ] as const;
      for (const [at, expected] of times)
        sameValue(await versionAsOf(opened, at), expected ?? undefined, `asOf(${new Date(at).toISOString()})`);
    }
    sameList((await opened.adapter.history!.read()).moves, moves, 'read() to return the changes that were written');
    return opened;
  };

  describe('history', () => {
    test(
      versions,
      'read() returns every change of the current version with its time, oldest first',
      async (instance, history) => {
        const moves = await makeMoves(instance);
        for (let i = 0; i < 8; i++) {
          const created = new Date(Date.UTC(2020, 0, 1 + i)).toISOString();
          await instance.adapter.publish!(datasetOf(`v-${i}`, created, { items: itemsOf('small') }));
          moves.push(await movedTo(instance));
        }
        sameList((await history.read()).moves, moves, 'read() to return every change, with null for a deleted version');
      },
    );

    test(
      versions,
      'read() returns null for a deleted version, even if its name is in use again',
      async (instance, history) => {
        const { adapter } = instance;
        await adapter.publish!(anotherDataset());
        sameList(await adapter.versions!.prune(1), [FIRST], 'prune(1) to delete the first version');
        await adapter.publish!(anotherDataset(FIRST, THIRD_CREATED));
        const found = (await history.read()).moves.map(({ version }) => version);
        sameList(found, [null, SECOND, FIRST], 'read() to return null for the deleted version');
      },
    );

    test(
      publishes,
      'read() ends with the current version, and returns the entries of the audit',
      async (instance, history) => {
        await publishTwo(instance);
        const { moves, audit } = await history.read();
        sameValue(moves.at(-1), await movedTo(instance), 'the last change to be that of the current version');
        sameList(audit, (await instance.adapter.audit?.list()) ?? [], 'read() to return the entries of the audit');
      },
    );

    test(
      publishes,
      'clear() deletes all versions and the audit, and their names can be used again',
      async (instance, history) => {
        const { adapter } = instance;
        await publishTwo(instance);
        const other = isExclusive(target) ? undefined : await instance.another();
        await history.clear();
        await failsWith('unavailable', () => adapter.snapshot());
        if (other) {
          const empty = await instance.make();
          await empty.adapter.open().catch(() => {});
          await failsWith('unavailable', () => empty.adapter.snapshot());
        }
        sameValue(await history.read(), { moves: [], audit: [] }, 'read() to return nothing after clear()');
        isEmpty((await adapter.audit?.list()) ?? [], 'the audit to be empty');
        isEmpty((await adapter.versions?.list()) ?? [], 'list() to return no versions');
        const dataset = datasetOf(SECOND, FIRST_CREATED, { ...rows, items: itemsOf('after clear') });
        await adapter.publish!(dataset);
        if (other && !isUnnoticed(target)) {
          await eventually('the other adapter follows', () => versionIfAny(other.adapter) === SECOND, followMs(target));
          await hasItems(other, itemsOf('after clear'));
        }
        const opened = standsAlone(target) ? instance : await instance.another();
        hasVersion(opened, SECOND);
        await hasItems(opened, itemsOf('after clear'));
        if (!adapter.versions) return;
        sameList(
          await versionsOf(opened),
          [{ version: SECOND, publishedAt: new Date(FIRST_CREATED) }],
          'list() to return only what was published after clear()',
        );
        sameValue(
          await versionAsOf(opened, Date.parse(FIRST_CREATED) - 1),
          undefined,
          'asOf() to find no earlier version',
        );
      },
    );

    test(
      versions || standsAlone(target),
      'write() restores what read() returned: versions, times and the audit',
      async (instance, history) => {
        const { adapter } = instance;
        const moves = await makeMoves(instance);
        const [stored, published] = [await history.read(), await versionsOf(instance)];
        await history.clear();
        for (const dataset of [datasetOf(), anotherDataset(THIRD, THIRD_CREATED)]) await adapter.publish!(dataset);
        await history.write({ ...stored, versions: published });
        const opened = await hasMoves(instance, moves);
        sameList(await versionsOf(opened), published, 'list() to return the times of publication');
        sameList((await opened.adapter.history!.read()).audit, stored.audit, 'the audit to be restored');
        await opened.adapter.publish!(anotherDataset(SECOND, FOURTH_CREATED));
        hasVersion(opened, SECOND);
        const verified = await opened.adapter.audit?.verify();
        isEmpty(verified?.faults ?? [], 'verify() to find no errors after the restore and another publication');
      },
    );

    test(
      versions || standsAlone(target),
      'write() replaces all times and the current version',
      async (instance, history) => {
        await publishTwo(instance);
        const at = (day: number, ms: number) => new Date(Date.UTC(2025, 0, day, 0, 0, 0, ms));
        const published = [FIRST, SECOND, THIRD].map((version, i) => ({ version, publishedAt: at(2 * i + 2, i + 1) }));
        const [first, second, third] = published;
        const moves: readonly Move[] = [
          { version: null, publishedAt: at(1, 0) },
          first!,
          { version: null, publishedAt: at(3, 5) },
          second!,
          third!,
          { version: FIRST, publishedAt: at(7, 1) },
          { version: SECOND, publishedAt: at(7, 2) },
        ];
        await history.write({ versions: published, moves, audit: [] });
        const opened = await hasMoves(instance, moves);
        sameList(await versionsOf(opened), published, 'list() to return the times that were written');
        await opened.adapter.publish!(anotherDataset('older', '2024-06-01T00:00:00Z'));
        const { publishedAt } = await movedTo(opened);
        assert(publishedAt > at(7, 2), `expected the next publication to be later, found ${publishedAt.toISOString()}`);
      },
    );

    test(
      publishes || isExclusive(target),
      'write() replaces the time of the current version',
      async (instance, history) => {
        await instance.adapter.publish!(anotherDataset());
        for (const day of [1, 3, 2]) {
          const current = { version: SECOND, publishedAt: new Date(Date.UTC(2025, 0, day, 0, 0, 0, 7)) };
          const versions = [{ version: FIRST, publishedAt: new Date(FIRST_CREATED) }, current];
          const moves = instance.adapter.versions ? versions : [current];
          await history.write({ versions, moves, audit: (await history.read()).audit });
          const opened = await instance.another();
          sameValue(await movedTo(opened), current, 'the time that was written, after reopening');
          sameList((await opened.adapter.history!.read()).moves.slice(-1), [current], 'read() to end with this time');
          await opened.adapter.close();
        }
      },
    );

    test(
      audits,
      'write() replaces the audit, including entries for changes that were never made',
      async (instance, history) => {
        const { adapter } = instance;
        const [{ moves, audit: before }, now] = [await history.read(), Date.now()];
        const change = { action: 'publish', version: 'never-made', replaces: FIRST } as const;
        const never = chain(dataAuditEntry(change, now), endOf(before));
        const entries = [...before, never, chain(undoing(never, new Date(now).toISOString()), never.hash)];
        await adapter.publish!(anotherDataset());
        await history.clear();
        await adapter.publish!(datasetOf());
        const published = [{ version: FIRST, publishedAt: new Date(FIRST_CREATED) }];
        await history.write({ moves, versions: published, audit: entries });
        sameList((await history.read()).audit, entries, 'read() to return all entries that were written');
        sameList(await adapter.audit!.list(), before, 'list() to return only the changes that were made');
        isEmpty((await adapter.audit!.verify(never.hash)).faults, 'verify() to find no errors');
        await adapter.publish!(anotherDataset());
        isEmpty(
          (await adapter.audit!.verify(never.hash)).faults,
          'verify() to find no errors after another publication',
        );
      },
    );

    test(audits, 'write() of an audit that was edited makes verify() report errors', async (instance, history) => {
      const { adapter } = instance;
      await publishTwo(instance);
      const { moves, audit: entries } = await history.read();
      const versions = adapter.versions
        ? await versionsOf(instance)
        : moves.map(({ publishedAt }) => ({ version: THIRD, publishedAt }));
      const [first, ...others] = entries;
      const edits = {
        'another user': entries.map((entry, i) => (i === 0 ? { ...entry, by: 'another' } : entry)),
        'another time': entries.map((entry, i) => (i === 1 ? { ...entry, time: '2020-01-01T00:00:00.000Z' } : entry)),
        'the first entry removed': others,
        'the second entry removed': entries.filter((_entry, i) => i !== 1),
        'the last entry removed': entries.slice(0, -1),
        'two entries swapped': [others[0]!, first!, ...others.slice(1)],
      };
      for (const [edit, audit] of Object.entries(edits)) {
        await history.write({ moves, versions, audit });
        sameValue((await adapter.audit!.verify()).faults.length > 0, true, `errors for an audit with ${edit}`);
      }
      await history.write({ moves, versions, audit: entries });
      isEmpty((await adapter.audit!.verify()).faults, 'no errors for the original audit');
    });

    test(publishes, 'cannot be used after close()', async (instance, history) => {
      const { moves, audit } = await history.read();
      await instance.adapter.close();
      for (const call of [
        () => history.read(),
        () => history.clear(),
        () => history.write({ moves, audit, versions: [] }),
      ])
        await failsWith('closed', call);
    });
  });
};
