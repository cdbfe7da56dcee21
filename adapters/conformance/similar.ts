/** Tests versions with similar content, to catch adapters that detect changes by counts, sizes, sums or names. */
import { setTimeout as delay } from 'node:timers/promises';
import type { Document } from 'metro-forecast-api/adapter';
import type { AdapterUnderTest } from './adapter-under-test.js';
import { DETAILS, detailed } from './edits.js';
import { failsWith, sameList, sameValue } from './expect.js';
import {
  anotherDataset,
  brokenDataset,
  datasetOf,
  FIRST,
  FIRST_CREATED,
  itemsOf,
  type Rows,
  rows,
  rowsWithCrowd,
} from './fixture.js';
import {
  changedTo,
  hasRows,
  hasVersion,
  type Instance,
  listOf,
  namesOf,
  pruned,
  publicationTime,
  readsItems,
  readsRows,
  withSnapshot,
} from './instance.js';
import { manifestOf } from './manifest.js';
import { isUnnoticed, without } from './obstacles.js';
import { mightStandAlone, testsOver, testsOverStore } from './tests-over.js';

const edited = (name: string, edit: (documents: Document[]) => void): Rows => {
  const documents = structuredClone(rows[name]!) as Document[];
  edit(documents);
  return { ...rows, [name]: documents };
};

const label = (documents: Document[], i: number, text: unknown): void => {
  documents[i] = { ...documents[i], label: text };
};

/** Time limit in milliseconds. On a slow store, the test publishes only the first of these `CONTENTS`. */
const MANY_MS = 30_000;

/** Each version is compared with the previous version and with the first one. */
const CONTENTS: Readonly<Record<string, Rows>> = {
  'another letter in a middle row': edited('items', (items) => label(items, 11, 'Item I2')),
  'the same letters in another order': edited('items', (items) => label(items, 11, 'Item 2I')),
  'two labels exchanged': edited('items', (items) => {
    const [one, two] = [items[11]!['label'], items[12]!['label']];
    label(items, 11, two);
    label(items, 12, one);
  }),
  'another key in a middle row': edited('items', (items) => {
    items[11] = { ...items[11], id: 'i11a' };
  }),
  'another number in a middle row': edited('readings', (readings) => {
    readings[30] = { ...readings[30], value: -Number(readings[30]!['value']) };
  }),
  'the rows as they were first': rows,
  'another row in the last collection': { ...rows, crowd: [{ block: 1, seat: 1, score: 1, name: 'The only guest' }] },
  'the last collection empty again': rows,
  'all rows of a collection in another collection': {
    ...rows,
    items: rows['items_twins']!,
    items_twins: rows['items']!,
  },
  'one collection empty': { ...rows, items_twins: [] },
  ...Object.fromEntries(Object.entries(DETAILS).map(([what, details]) => [what, detailed(rows, details, 11)])),
  'no rows': {},
};

const DELETED = ['v_1.0', 'v'];
/**
 * Versions that must remain when the versions in `DELETED` are deleted. An adapter that ignores case, or matches
 * prefixes, suffixes or patterns, would also delete them.
 */
const KEPT = ['v_1.00', 'v_1.0-a', 'a-v_1.0', 'V_1.0', 'vx1.0', 'v_1x0', 'v_1'];

export const describeSimilar = (target: AdapterUnderTest): void => {
  const publishes = without(target, 'publish');
  const versions = publishes || without(target, 'versions');
  const test = testsOver(target, publishes);
  const created = (i: number) => new Date(Date.parse(FIRST_CREATED) + i * 1000).toISOString();

  describe('versions with similar or equal rows', () => {
    test('are each published whole', async (instance) => {
      const stored: [version: string, time: number, content: Rows, what: string][] = [
        [FIRST, publicationTime(instance), rows, 'the first rows'],
      ];
      const end = performance.now() + MANY_MS;
      for (const [i, [what, content]] of Object.entries(CONTENTS).entries()) {
        if (performance.now() > end) break;
        const version = `similar-${i}`;
        // Every two versions have the same time of creation.
        await instance.adapter.publish!(datasetOf(version, created(1 + Math.floor(i / 2)), content));
        stored.push([version, publicationTime(instance), content, what]);
        hasVersion(instance, version);
        await hasRows(instance, content, `a version with ${what}`);
      }
      if (!instance.adapter.versions) return;
      for (const [version, time, content, what] of stored) {
        const snapshot = (await instance.adapter.versions.asOf(new Date(time)))!;
        sameValue(snapshot.version, version, `asOf(${time})`);
        await readsRows(snapshot, content, `a version with ${what}`);
        snapshot.release();
      }
    });

    test('are different versions, even if only their names differ, and changed() is called for each', async (instance) => {
      const before = instance.changes.length;
      const names = ['same-1', 'same-2', 'SAME-2'];
      for (const version of names) {
        await instance.adapter.publish!(datasetOf(version, FIRST_CREATED));
        hasVersion(instance, version);
        await withSnapshot(instance, async ({ manifest }) =>
          sameValue(manifest, manifestOf(version, FIRST_CREATED), 'the manifest of the new version'),
        );
      }
      await hasRows(instance, rows, 'a version with the same rows');
      await changedTo(target, names, instance, before);
      if (!instance.adapter.versions) return;
      const listed = (await listOf(instance)).map(({ version }) => version);
      sameList(listed, [...names.toReversed(), FIRST], 'list() to return each version');
    });

    test('are rejected with conflict under a name that is taken', async (instance) => {
      const crowd = rowsWithCrowd()['crowd']!.slice(0, 1200);
      const [first, ...others] = rows['items']!;
      const content = { ...rows, items: [{ ...first, note: 'x' }, ...others], crowd };
      await instance.adapter.publish!(datasetOf('taken', created(1), content));
      const changed = { ...crowd.at(-1), name: 'another' };
      for (const similar of [
        ...Object.values(CONTENTS).map((each) => ({ ...each, crowd })),
        { ...content, items: [{ ...first, text: 'x' }, ...others] },
        { ...content, crowd: [...crowd.slice(0, -1), changed] },
        { ...content, crowd: crowd.slice(0, -1) },
      ]) {
        await failsWith('conflict', () => instance.adapter.publish!(datasetOf('taken', created(1), similar)));
      }
      hasVersion(instance, 'taken');
      await hasRows(instance, content, 'the version whose name is taken');
    });

    testsOverStore(target)(
      versions || isUnnoticed(target),
      'are noticed by another adapter if they replace one of the same size within a second',
      async (instance) => {
        const other = await instance.another();
        // Starts at the beginning of a second, so that all versions can have the same timestamp in seconds.
        await delay(1000 - (Date.now() % 1000));
        for (const [i, version] of ['other-1', 'other-2', 'other-3'].entries()) {
          const before = other.changes.length;
          await instance.adapter.publish!(anotherDataset(version, created(i + 1)));
          await instance.adapter.versions!.prune(1);
          await changedTo(target, [version], other, before);
          await withSnapshot(other, (snapshot) => readsItems(snapshot, itemsOf(version)));
        }
      },
    );

    testsOver(target, versions)('contain nothing of a deleted version with the same name', async (instance) => {
      const { adapter } = instance;
      const content = { ...rows, items: rows['items']!.slice(3).map(({ label, ...item }) => ({ ...item, label: '' })) };
      for (const [i, of] of [content, { ...content, items_twins: [] }, {}].entries()) {
        await adapter.publish!(datasetOf(`other-${i}`, created(2 * i + 1)));
        await adapter.versions!.prune(1);
        await adapter.publish!(datasetOf(FIRST, created(2 * i + 2), of));
        await hasRows(instance, of, 'a version with a deleted name');
      }
    });

    testsOver(target, versions)('are deleted independently', async (instance) => {
      const { adapter } = instance;
      const isWhole = (opened: Pick<Instance, 'adapter'>) =>
        hasRows(opened, rows, 'a version with the rows of deleted ones');
      for (const version of ['same-1', 'same-2']) await adapter.publish!(datasetOf(version, FIRST_CREATED));
      await adapter.versions!.activate(FIRST);
      sameList(await adapter.versions!.prune(1), ['same-1'], 'prune(1) to delete one of three versions');
      await failsWith('unknown_version', () => adapter.versions!.activate('same-1'));
      await adapter.versions!.activate('same-2');
      sameList(await adapter.versions!.prune(1), [FIRST], 'prune(1) to delete the first version');
      await isWhole(instance);
      if (await mightStandAlone(target, instance)) return;
      await adapter.close();
      const opened = await instance.another();
      hasVersion(opened, 'same-2');
      await isWhole(opened);
    });
  });

  describe('versions with similar names', () => {
    testsOver(target, versions)('stay whole when another is deleted, or its publication fails', async (instance) => {
      const names = [...DELETED, ...KEPT];
      for (const [i, name] of names.entries()) await instance.adapter.publish!(anotherDataset(name, created(i + 1)));

      /** Reads from another adapter if possible, because the publishing adapter may have the rows in memory. */
      const areWhole = async (): Promise<Pick<Instance, 'adapter'>> => {
        const opened = (await mightStandAlone(target, instance)) ? instance : await instance.another();
        sameList(await namesOf(opened), KEPT.toReversed(), 'list() to return the versions that were kept');
        for (const name of KEPT) {
          const snapshot = await opened.adapter.versions!.asOf(new Date(created(names.indexOf(name) + 1)));
          sameValue(snapshot?.version, name, 'the version of asOf()');
          await readsRows(snapshot!, { ...rows, items: itemsOf(name) }, `version ${name}`);
          snapshot!.release();
        }
        return opened;
      };

      const deleted = await pruned(target, instance, KEPT.length, DELETED.length + 1);
      sameList(deleted, [FIRST, ...DELETED].sort(), 'prune() to delete the oldest');
      const { adapter } = await areWhole();
      for (const name of DELETED) {
        await adapter.publish!(brokenDataset(new Error('the file ends too early'), name)).catch(() => {});
      }
      await areWhole();
    });
  });
};
