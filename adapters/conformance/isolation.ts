/** Tests that a snapshot does not change when another version becomes current. */
import type { Document, Manifest, Snapshot } from 'metro-forecast-api/adapter';
import type { AdapterUnderTest } from './adapter-under-test.js';
import { sameItems, sameList, sameValue } from './expect.js';
import { find, findJson, readsReject } from './find-rows.js';
import {
  aboutDataset,
  anotherDataset,
  datasetOf,
  FIRST,
  FIRST_CREATED,
  items,
  itemsIn,
  itemsOf,
  type Rows,
  rows,
  SECOND,
  SECOND_CREATED,
  THIRD,
  THIRD_CREATED,
} from './fixture.js';
import {
  about,
  changedTo,
  hasItems,
  hasVersion,
  makeCurrent,
  readsItems,
  readsRows,
  startInstance,
  withSnapshot,
} from './instance.js';
import { manifestOf, manySources, oddSources } from './manifest.js';
import { cannotChange } from './obstacles.js';
import { answerOf } from './reference.js';
import { TIME_ZONE } from './start-process.js';
import { testsOver } from './tests-over.js';

/** Rows of another version, with an empty collection, additional rows and documents with different fields. */
const OTHERWISE: Rows = {
  items: rows['items']!.map(({ label, ...item }, i) =>
    i % 2 ? { ...item, label, extra: [i] } : { ...item, label: '' },
  ),
  readings: [],
  items_twins: rows['items_twins']!.slice(5).map(({ label, ...twin }) => ({
    ...twin,
    label: 'x',
    note: String(label),
  })),
  nothing: [{ id: 'something' }],
  crowd: [{ block: 0, seat: 0, score: 0, name: 'The only guest' }],
};

const holds = (snapshot: Snapshot, content: Rows): Promise<void> =>
  readsRows(snapshot, content, `version ${snapshot.version}`);

export const describeIsolation = (target: AdapterUnderTest): void => {
  const test = testsOver(target, cannotChange(target));

  describe('the factory', () => {
    it('gives every test a store of its own', async () => {
      const one = await startInstance(target);
      const other = await startInstance(target, anotherDataset());
      try {
        hasVersion(one, FIRST);
        hasVersion(other, SECOND);
        await hasItems(one, rows['items']!);
        await hasItems(other, itemsOf(SECOND));
      } finally {
        await one.stop();
        await other.stop();
      }
    });
  });

  describe('snapshot()', () => {
    testsOver(target)('has the version and the manifest of its dataset', (instance) =>
      withSnapshot(instance, async ({ version, manifest }) => {
        sameValue(
          { version, manifest },
          { version: FIRST, manifest: manifestOf(FIRST, FIRST_CREATED) },
          'the snapshot',
        );
      }),
    );

    testsOver(target)('uses the creation time of its dataset as its publication time', (instance) =>
      withSnapshot(instance, async ({ publishedAt }) => {
        sameValue(publishedAt, new Date(FIRST_CREATED), 'publishedAt to be a Date, the time of creation');
      }),
    );

    test('returns the new version after a change, and its rows replace all earlier ones', async (instance) => {
      await makeCurrent(target, instance, anotherDataset());
      await withSnapshot(instance, async (snapshot) => {
        sameValue(about(snapshot), aboutDataset(SECOND, SECOND_CREATED), 'the snapshot to describe its new dataset');
        await readsItems(snapshot, itemsOf(SECOND));
      });
    });

    test('can have the name of a number or of a member of an object, and 100 characters', async (instance) => {
      const names = ['0042', '42.0', '42', '1e3', 'constructor', 'v'.repeat(100)];
      for (const [i, version] of names.entries()) {
        const created = new Date(Date.parse(SECOND_CREATED) + i).toISOString();
        await makeCurrent(target, instance, anotherDataset(version, created));
        hasVersion(instance, version);
        await hasItems(instance, itemsOf(version));
      }
    });

    test('keeps the manifest as it was published: every field, null or absent, and the same text in created', async (instance) => {
      const manifests: readonly Manifest[] = [
        { ...manifestOf('v.0042', '2024-02-01T00:00:00Z'), synthetic: false, sources: [] },
        { ...manifestOf('v.42-A_b', '2024-02-01T00:00:00.5Z'), vintage: '1999-12-31' },
        { ...manifestOf('v.43', '2024-02-01T00:00:01.250Z'), vintage: '2024-02-29' },
        manifestOf('v-1', '2031-07-01T12:34:56.789Z'),
        manifestOf('microseconds', '2031-07-02T12:34:56.789012Z'),
        { ...manifestOf('texts', '2031-07-03T00:00:00Z'), sources: oddSources },
        { ...manifestOf('many-sources', '2031-07-04T00:00:00Z'), sources: manySources },
      ];
      for (const manifest of manifests) {
        await makeCurrent(target, instance, { ...anotherDataset(manifest.version), manifest });
        await withSnapshot(instance, async (snapshot) => {
          sameValue(snapshot.manifest, manifest, `the manifest of version "${manifest.version}" as it was published`);
          sameValue(snapshot.version, manifest.version, 'the version of the manifest');
        });
      }
    });

    test('has its publication time in milliseconds', async (instance) => {
      // An adapter that compares times as text sorts these times incorrectly, because `.` sorts before `Z`.
      const times = ['56Z', '56.001Z', '56.999Z', '57.5Z', '58Z', '58.5Z'];
      for (const created of times.map((seconds) => `2024-02-01T12:34:${seconds}`)) {
        await makeCurrent(target, instance, anotherDataset(`at-${Date.parse(created)}`, created));
        await withSnapshot(instance, async ({ publishedAt }) => {
          sameValue(publishedAt, new Date(created), 'the publication time to be a Date, equal to the time of creation');
        });
      }
    });

    test('has the same publication time in every time zone', async (instance) => {
      const { TZ } = process.env;
      process.env['TZ'] = TIME_ZONE;
      try {
        await makeCurrent(target, instance, anotherDataset());
        await withSnapshot(instance, async ({ publishedAt }) => {
          sameValue(publishedAt, new Date(SECOND_CREATED), `publishedAt in the time zone ${TIME_ZONE}`);
        });
      } finally {
        if (TZ === undefined) delete process.env['TZ'];
        else process.env['TZ'] = TZ;
      }
    });

    test('does not change after another version became current', (instance) =>
      withSnapshot(instance, async (held) => {
        const before = about(held);
        await makeCurrent(target, instance, anotherDataset());
        sameValue(about(held), before, 'the held snapshot to be unchanged');
        await makeCurrent(target, instance, datasetOf(THIRD, THIRD_CREATED, OTHERWISE));
        await holds(held, rows);
        await readsItems(held, rows['items']!);
        await readsReject(held);
      }));

    test('keeps nothing of an earlier version: no rows, fields or collections that the new one lacks', async (instance) => {
      await makeCurrent(target, instance, datasetOf(SECOND, SECOND_CREATED, OTHERWISE));
      await withSnapshot(instance, (snapshot) => holds(snapshot, OTHERWISE));
      await makeCurrent(target, instance, datasetOf(THIRD, THIRD_CREATED));
      await withSnapshot(instance, (snapshot) => holds(snapshot, rows));
    });

    test('can be taken any number of times, and each one stays readable', async (instance) => {
      const held = Array.from({ length: 1100 }, () => instance.adapter.snapshot());
      const { versions } = instance.adapter;
      for (let i = 0; i < 100 && versions; i++) held.push((await versions.asOf(new Date(FIRST_CREATED)))!);
      await makeCurrent(target, instance, anotherDataset());
      for (const [i, snapshot] of held.entries()) if (i % 50 === 0) await readsItems(snapshot, rows['items']!);
      for (const snapshot of held) snapshot.release();
      await hasItems(instance, itemsOf(SECOND));
    });

    test('can be taken of 40 versions, and each one stays readable', async (instance) => {
      const held = [instance.adapter.snapshot()];
      for (let i = 1; i < 40; i++) {
        const created = new Date(Date.parse(SECOND_CREATED) + i).toISOString();
        await makeCurrent(target, instance, anotherDataset(`held-${i}`, created));
        held.push(instance.adapter.snapshot());
      }
      for (const snapshot of held) {
        await readsItems(snapshot, itemsIn(snapshot.version));
        snapshot.release();
      }
    });

    test('reads its own version, whatever was read from another one before', (instance) =>
      withSnapshot(instance, async (first) => {
        const ask = async (snapshot: Snapshot, expected: readonly Document[]): Promise<void> => {
          await readsItems(snapshot, expected);
          for (const query of [{ limit: 2 }, { order: items.orders![0]!, descending: true }]) {
            const found = (await find(snapshot, items, query)).map(({ label }) => label);
            const right = answerOf(expected, { order: items.key, ...query }).map(({ label }) => label);
            sameList(found, right, `find("items", ${JSON.stringify(query)}) to read version ${snapshot.version}`);
          }
          if (snapshot.findJson) sameItems(await findJson(snapshot, items), expected);
          const groups = await snapshot.totals?.('items', { where: [], by: ['id'], limit: 100 });
          const counted = groups?.map(({ values }) => values[0]).sort();
          if (counted)
            sameList(
              counted,
              expected.map(({ id }) => id),
              `totals() to read version ${snapshot.version}`,
            );
        };
        await ask(first, rows['items']!);
        await makeCurrent(target, instance, anotherDataset());
        await withSnapshot(instance, async (second) => {
          for (const _ of [1, 2]) {
            await ask(second, itemsOf(SECOND));
            await ask(first, rows['items']!);
          }
        });
      }));

    test('stays readable through several changes until it is released', async (instance) => {
      const first = instance.adapter.snapshot();
      const held = [first, instance.adapter.snapshot()];
      for (const month of ['02', '03', '04']) {
        await makeCurrent(target, instance, anotherDataset(`v-${month}`, `2024-${month}-01T00:00:00Z`));
        held.push(instance.adapter.snapshot());
      }
      // A second call to `release()` must not release the lock of another snapshot.
      first.release();
      first.release();
      for (const snapshot of held.slice(1)) {
        const expected = itemsIn(snapshot.version);
        await readsItems(snapshot, expected);
        snapshot.release();
      }
      await hasItems(instance, itemsOf('v-04'));
    });

    test('reads its own version when find() is called before a change and iterated after it', (instance) =>
      withSnapshot(instance, async (held) => {
        const asked = held.find('items', { order: items.key });
        await makeCurrent(target, instance, anotherDataset());
        const found: Document[] = [];
        for await (const batch of asked) found.push(...batch);
        sameItems(found, rows['items']!);
      }));

    test('never mixes two versions while many callers read', async (instance) => {
      let changing = true;
      const reader = async (): Promise<void> => {
        while (changing) {
          await withSnapshot(instance, async (snapshot) => {
            const expected = itemsIn(snapshot.version);
            await readsItems(snapshot, expected);
            await new Promise(setImmediate);
            sameItems(await find(snapshot, items, { limit: 100 }), expected);
          });
        }
      };
      const readers = Promise.all(Array.from({ length: 8 }, reader));
      try {
        for (const month of ['02', '03', '04', '05']) {
          await makeCurrent(target, instance, anotherDataset(`v-${month}`, `2024-${month}-01T00:00:00.000Z`));
        }
      } finally {
        changing = false;
      }
      await readers;
    });
  });

  describe('changed()', () => {
    test('is called when snapshot() returns another version', async (instance) => {
      const before = instance.changes.length;
      await makeCurrent(target, instance, anotherDataset());
      await changedTo(target, [SECOND], instance, before);
    });
  });
};
