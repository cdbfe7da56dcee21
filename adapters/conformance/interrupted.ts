/** Tests that a publication leaves nothing behind if it fails, is aborted, or is interrupted by `close()`. */
import assert from 'node:assert/strict';
import { setTimeout as delay } from 'node:timers/promises';
import { type Dataset, type Document, StorageError } from 'metro-forecast-api/adapter';
import type { AdapterUnderTest } from './adapter-under-test.js';
import { eventually, failsWith, isEmpty, sameList, sameValue, within } from './expect.js';
import { sizesOf } from './files.js';
import { find } from './find-rows.js';
import {
  collections,
  datasetOf,
  FIRST,
  FIRST_CREATED,
  type Rows,
  rows,
  SECOND,
  SECOND_CREATED,
  THIRD,
  THIRD_CREATED,
} from './fixture.js';
import { hasVersion, type Instance, listOf, namesOf, versionOf, withSnapshot } from './instance.js';
import { manifestOf } from './manifest.js';
import { isExclusive, standsAlone, without } from './obstacles.js';
import { testsOver, testsOverStore } from './tests-over.js';

/** Maximum time until an interrupted publication settles, in milliseconds. */
export const SETTLE_MS = 20_000;
/** Pause in milliseconds after the last row of a collection, before its iterator ends. */
const READ_MS = 10;
/** How often each publication fails before the files are counted. */
const ROUNDS = 3;

/** The rows of an interrupted publication. In every collection, some rows occur in no other publication of the test. */
const ABANDONED: Rows = {
  items: [{ id: 'abandoned', grade: 'a', rank: 1, label: 'abandoned' }, ...rows['items']!],
  readings: [{ station: 'abandoned', day: '2024-01-01', hour: 1, value: 1 }, ...rows['readings']!],
  items_twins: [{ id: 'abandoned', grade: 'a', rank: 1, label: 'abandoned' }],
  nothing: [{ id: 'abandoned' }],
  crowd: [{ block: 1, seat: 1, score: 1, name: 'abandoned' }],
};

export const NEXT: Rows = {
  ...rows,
  items: rows['items']!.slice(2, 9),
  items_twins: [],
  readings: rows['readings']!.slice(3),
};

const hasNext = (instance: Pick<Instance, 'adapter'>): Promise<void> =>
  withSnapshot(instance, async (snapshot) => {
    for (const collection of collections.values()) {
      const expected = NEXT[collection.name]!;
      sameList(await find(snapshot, collection), expected, `only the rows of this publication in "${collection.name}"`);
    }
  });

/** Returns a dataset that calls `act` after the rows of each collection, and records which iterators are open. */
const watched = (act: (collection: string) => unknown, content = ABANDONED) => {
  const whole = datasetOf(SECOND, SECOND_CREATED, content, 3);
  const open = new Set<string>();
  const dataset: Dataset = {
    manifest: whole.manifest,
    async *read(collection): AsyncGenerator<readonly Document[]> {
      open.add(collection);
      try {
        yield* whole.read(collection);
        await act(collection);
        // An adapter can read several collections at the same time, and must close the iterators of all of them.
        await delay(READ_MS);
        yield [];
        yield [];
      } finally {
        open.delete(collection);
      }
    },
  };
  return { dataset, open };
};

interface Interruption {
  readonly closes?: boolean;
  begin(instance: Pick<Instance, 'adapter'>, at: string): { publication: Promise<void>; open: ReadonlySet<string> };
}

const begin = ({ adapter }: Pick<Instance, 'adapter'>, at: string, act: () => unknown, signal?: AbortSignal) => {
  const { dataset, open } = watched((collection) => (collection === at ? act() : undefined));
  return { publication: adapter.publish!(dataset, signal ? { signal } : undefined), open };
};

const INTERRUPTIONS: Readonly<Record<string, Interruption>> = {
  'the dataset cannot be read': {
    begin: (instance, at) =>
      begin(instance, at, () => {
        throw new Error('the file ends too early');
      }),
  },
  'its signal is aborted': {
    begin(instance, at) {
      const controller = new AbortController();
      return begin(instance, at, () => controller.abort(), controller.signal);
    },
  },
  'the adapter is closed': {
    closes: true,
    begin: (instance, at) =>
      begin(instance, at, async () => {
        void instance.adapter.close();
        await new Promise(setImmediate);
      }),
  },
};

export const describeInterrupted = (target: AdapterUnderTest): void => {
  const publishes = without(target, 'publish');
  const test = testsOver(target, publishes);
  const testStore = testsOverStore(target);
  const testOf = (reopens: boolean): typeof testStore =>
    reopens ? testStore : (obstacle, title, body) => testsOver(target, obstacle)(title, body);

  describe('a publication', () => {
    for (const [what, { begin, closes = false }] of Object.entries(INTERRUPTIONS)) {
      const obstacle = publishes || (closes && standsAlone(target));

      testOf(closes)(obstacle, `leaves the store unlocked and no rows behind if ${what}`, async (instance) => {
        for (const at of ['items', 'crowd']) {
          let opened: Pick<Instance, 'adapter'> = closes ? await instance.another() : instance;
          const { publication } = begin(opened, at);
          const [settled] = await within(
            `publish() settles when ${what}`,
            Promise.allSettled([publication]),
            SETTLE_MS,
          );
          if (closes) {
            await opened.adapter.close();
            opened = await instance.another();
          }
          if (settled?.status === 'fulfilled') {
            // An adapter may complete a publication that is in progress before it closes.
            sameValue([closes, versionOf(opened.adapter)], [true, SECOND], `publish() to reject if ${what}`);
            return;
          }
          hasVersion(opened, FIRST);
          if (at === 'items') continue;
          const next = opened.adapter.publish!(datasetOf(SECOND, SECOND_CREATED, NEXT));
          await within('the same version can be published', next, SETTLE_MS);
          await hasNext(opened);
          if (!target.capabilities.versions) return;
          sameList(await namesOf(opened), [SECOND, FIRST], 'list() to return each publication once');
        }
      });

      // Each collection in turn is the one in which the publication stops. The other ones can be read at the same time.
      testOf(closes)(obstacle, `closes the iterators of the dataset if ${what}`, async (instance) => {
        for (const at of collections.keys()) {
          const opened = closes ? await instance.another() : instance;
          const { publication, open } = begin(opened, at);
          const [settled] = await within('publish() settles', Promise.allSettled([publication]), SETTLE_MS);
          isEmpty([...open], `no iterator of the dataset to be open, if it stops in "${at}"`);
          if (settled?.status === 'fulfilled') return;
        }
      });
    }

    test('closes the iterators of the dataset if a row cannot be stored, or its version exists', async ({
      adapter,
    }) => {
      for (const [at, documents] of Object.entries(ABANDONED)) {
        // JSON cannot represent the value, so that the adapter, not the dataset, can be the first to fail.
        const content = { ...ABANDONED, [at]: [{ ...documents[0], odd: 10n }, ...documents, ...rows[at]!] };
        const { dataset, open } = watched(() => {}, content);
        await within('publish() settles', Promise.allSettled([adapter.publish!(dataset)]), SETTLE_MS);
        isEmpty([...open], `no iterator of the dataset to be open, if a row of "${at}" cannot be stored`);
      }
      const { dataset, open } = watched(() => {});
      const taken = { ...dataset, manifest: manifestOf(FIRST, FIRST_CREATED) };
      await within('publish() settles', Promise.allSettled([adapter.publish!(taken)]), SETTLE_MS);
      isEmpty([...open], 'no iterator of the dataset to be open after a conflict');
    });

    testStore(publishes, 'leaves no files behind if it fails several times', async (instance) => {
      const opened = isExclusive(target) ? instance : await instance.another();
      const files = async () => [...(await sizesOf(instance.folder)).keys()];
      for (const [what, { begin, closes = false }] of Object.entries(INTERRUPTIONS)) {
        if (closes) continue;
        const fail = async () => {
          for (const at of ['items', 'readings', 'crowd']) await Promise.allSettled([begin(opened, at).publication]);
        };
        await fail();
        const before = await files();
        for (let i = 0; i < ROUNDS; i++) await fail();
        // If each failed publication left a file, there would be at least `ROUNDS` new files. Fewer new files are
        // allowed, because a store can create its own log files.
        const isDeleted = async () => (await files()).filter((name) => !before.includes(name)).length < ROUNDS;
        await eventually(`no files of failed publications are left, if ${what}`, isDeleted, SETTLE_MS / 2);
      }
    });

    test('closes the iterators of the dataset when it succeeds', async ({ adapter }) => {
      const { dataset, open } = watched(() => {}, NEXT);
      await adapter.publish!(dataset);
      isEmpty([...open], 'no iterator of the dataset to be open');
    });

    test('with the content of an existing version changes nothing, and resolves or rejects with conflict', async (instance) => {
      const { adapter } = instance;
      const publishAgain = async () => {
        const { version, publishedAt } = adapter.snapshot();
        const versions = adapter.versions && (await listOf(instance));
        const [settled] = await Promise.allSettled([adapter.publish!(datasetOf())]);
        if (settled?.status === 'rejected') await failsWith('conflict', () => Promise.reject(settled.reason));
        const after = adapter.snapshot();
        sameValue([after.version, after.publishedAt], [version, publishedAt], 'the current version to be unchanged');
        if (versions) sameList(await listOf(instance), versions, 'list() to be unchanged');
      };
      await publishAgain();
      if (!adapter.versions) return;
      await adapter.publish!(datasetOf(THIRD, THIRD_CREATED));
      await publishAgain();
    });

    test('calls onProgress with growing numbers until it settles, and neither onWait nor onRepair without a reason', async ({
      adapter,
    }) => {
      const calls: string[] = [];
      let isSettled = false;
      const rowsOf = new Map<string, number>();
      await adapter.publish!(datasetOf(THIRD, THIRD_CREATED, NEXT, 3), {
        onProgress({ collection, written }) {
          if (isSettled) calls.push('onProgress after the publication');
          if (written < (rowsOf.get(collection) ?? 0)) calls.push(`onProgress(${collection}: ${written})`);
          rowsOf.set(collection, written);
        },
        onWait: (sentence) => calls.push(`onWait(${JSON.stringify(sentence)})`),
        onRepair: (reason) => calls.push(`onRepair(${JSON.stringify(reason)})`),
      });
      isSettled = true;
      await new Promise((resolve) => setTimeout(resolve, 20));
      isEmpty(calls, 'no other call');
    });

    testStore(
      publishes || standsAlone(target),
      'that is closed while it is in progress is either published completely, or rejects and changes nothing',
      async (instance) => {
        const opened = await instance.another();
        const { dataset } = watched((name) => name === 'readings' && void opened.adapter.close(), NEXT);
        const publication = Promise.allSettled([opened.adapter.publish!(dataset)]);
        const [settled] = await within('publish() settles', publication, SETTLE_MS);
        await opened.adapter.close();
        const last = await instance.another();
        if (settled?.status === 'fulfilled') return hasNext(last);
        assert(settled!.reason instanceof StorageError, `expected a StorageError, got ${settled!.reason}`);
        hasVersion(last, FIRST);
      },
    );
  });
};
