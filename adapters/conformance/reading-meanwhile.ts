/** Tests that other calls do not affect reads that are in progress. */
import type { Document, JsonRows, Query, Snapshot } from 'metro-forecast-api/adapter';
import { StorageError } from 'metro-forecast-api/adapter';
import type { AdapterUnderTest } from './adapter-under-test.js';
import { sameItems, sameSequence } from './expect.js';
import { find, parseRows, startReads } from './find-rows.js';
import {
  anotherDataset,
  brokenDataset,
  crowd,
  datasetOf,
  FIRST,
  FIRST_CREATED,
  items,
  largeRows,
  rows,
} from './fixture.js';
import { type Instance, isCurrent, makeCurrent, type Opened } from './instance.js';
import { cannotChange, isExclusive, isUnnoticed } from './obstacles.js';
import { answerOf } from './reference.js';
import { testsOver, testsOverStore } from './tests-over.js';

/** The calls that are made while reads are in progress, by name. */
type Acts = Readonly<Record<string, () => unknown>>;

/** Ends the reads of an iterator after its first batch. */
const leave = async (batches: AsyncIterable<unknown>): Promise<void> => {
  for await (const _ of batches) break;
};

const readsBy = (snapshot: Snapshot): Acts => {
  const { signal } = new AbortController();
  const aborted = AbortSignal.abort();
  const query = { order: crowd.key };
  const totals = { where: [], by: ['grade'], limit: 9 };
  return {
    'get() of an unknown collection': () => snapshot.get('no_such', ['i01']),
    'find() of an unknown collection': () => find(snapshot, { ...items, name: 'no_such' }),
    'an aborted get()': () => snapshot.get('items', ['i01'], aborted),
    'an aborted find()': () => find(snapshot, crowd, {}, aborted),
    'an aborted getJson()': () => snapshot.getJson?.('items', ['i01'], aborted),
    'aborted totals()': () => snapshot.totals?.('items', totals, aborted),
    'a get()': () => snapshot.get('items', ['i02'], signal),
    'a find() of the same rows': () => find(snapshot, crowd),
    'totals()': () => snapshot.totals?.('items', totals, signal),
    'a find() that is left early': () => leave(snapshot.find('crowd', query)),
    'a findJson() that is left early': () => snapshot.findJson && leave(snapshot.findJson('crowd', query)),
  };
};

const callsOf = ({ adapter }: Pick<Opened, 'adapter'>, versions: readonly string[]): Acts => ({
  'ping()': () => adapter.ping(),
  'an aborted ping()': () => adapter.ping(AbortSignal.abort()),
  'open()': () => adapter.open(),
  'snapshot() and release()': () => adapter.snapshot().release(),
  'list()': () => adapter.versions?.list(),
  'asOf() and release()': async () => (await adapter.versions?.asOf(new Date(FIRST_CREATED)))?.release(),
  'asOf() before the first version': () => adapter.versions?.asOf(new Date(0)),
  'audit.list()': () => adapter.audit?.list(),
  'history.read()': () => adapter.history?.read(),
  ...Object.fromEntries(
    versions.map((version) => [`activate("${version}")`, () => adapter.versions?.activate(version)]),
  ),
});

const changesOf = (target: AdapterUnderTest, opened: Pick<Opened, 'adapter'>, whose: string): Acts => {
  const { adapter } = opened;
  const next = (name: string, day: number) =>
    anotherDataset(`${whose}-${name}`, new Date(Date.UTC(2025, whose === 'own' ? 1 : 2, day)).toISOString());
  const failing = brokenDataset(new Error('the file ends too early'), `${whose}-broken`);
  const publishes = target.capabilities.publish ?? false;
  return {
    ...(publishes && {
      'publish() that fails': () => adapter.publish!(failing),
      'publish() under an existing version': () => adapter.publish!(anotherDataset(FIRST)),
      'publish() that is aborted': () => {
        const controller = new AbortController();
        const dataset = brokenDataset(new Error('it was aborted'), `${whose}-aborted`, () => controller.abort());
        return adapter.publish!(dataset, { signal: controller.signal });
      },
    }),
    ...(!cannotChange(target) && { 'a new version': () => makeCurrent(target, opened, next('new', 1)) }),
    ...callsOf(opened, [FIRST, `${whose}-new`, 'missing']),
    ...(publishes && {
      'publish()': () => adapter.publish!(next('next', 2)),
      'publish() without rows': () =>
        adapter.publish!({ ...datasetOf(), ...next('empty', 3), read: async function* () {} }),
    }),
    ...(whose === 'own' && {
      'prune(1)': () => adapter.versions?.prune(1),
      'prune(1) without a version to delete': () => adapter.versions?.prune(1),
    }),
  };
};

type Method = 'find' | 'findJson';
const LISTS: readonly (readonly [Method, Query])[] = [
  ['find', { order: crowd.key }],
  ['find', { order: crowd.orders![0]!, descending: true, limit: 15_000 }],
  ['findJson', { order: crowd.key }],
];

/** A list with fewer batches is read only once, because few calls are made between its batches. */
const FEW_BATCHES = 4;

/** A list that starts again when it has been read. */
class List {
  #count = 0;
  #isDone = false;
  #batches: AsyncIterator<readonly Document[] | JsonRows> | undefined;
  #found: Document[] = [];
  readonly #expected: readonly Document[];

  constructor(
    readonly snapshot: Snapshot,
    readonly method: Method,
    readonly query: Query,
  ) {
    this.#expected = answerOf(largeRows()['crowd']!, query);
  }

  /** Reads the next batch. Returns false when the list is complete. */
  async read(): Promise<boolean> {
    if (this.#isDone) return false;
    this.#batches ??= this.snapshot[this.method]!('crowd', this.query)[Symbol.asyncIterator]();
    const { done, value } = await this.#batches.next();
    if (!done) {
      this.#count++;
      for (const each of 'ends' in value ? parseRows(value) : value) this.#found.push(each);
      return true;
    }
    sameSequence(crowd, this.#found, this.#expected, this.query);
    this.#batches = undefined;
    this.#isDone = this.#count < FEW_BATCHES;
    this.#count = 0;
    this.#found = [];
    return false;
  }
}

/** Makes each call while lists are between two batches and other reads have just started. */
const readWhile = async (snapshots: readonly Snapshot[], acts: Acts): Promise<void> => {
  const lists = snapshots.flatMap((snapshot, i) =>
    LISTS.slice(0, i === 0 ? undefined : 1)
      .filter(([method]) => snapshot[method])
      .map(([method, query]) => new List(snapshot, method, query)),
  );
  for (const [what, act] of Object.entries(acts)) {
    try {
      for (const list of lists) await list.read();
      const reads = snapshots.flatMap((snapshot) => startReads(snapshot, rows['items']!));
      const reading = Promise.all(reads.map(([read]) => read));
      reading.catch(() => {});
      try {
        await act();
      } catch (error) {
        // Other tests prove which calls reject.
        if (!(error instanceof StorageError)) throw error;
      }
      for (const [i, found] of (await reading).entries()) sameItems(found, reads[i]![1]);
    } catch (error) {
      if (error instanceof Error) error.message += `\nThe call during the read: ${what}`;
      throw error;
    }
  }
  for (const list of lists) while (await list.read());
};

export const describeReadingMeanwhile = (target: AdapterUnderTest): void => {
  const dataset = () => datasetOf(FIRST, FIRST_CREATED, largeRows());
  const test = testsOver(target, false, dataset);

  const readAll = async ({ adapter }: Instance, actsOf: (snapshot: Snapshot) => Acts): Promise<void> => {
    const snapshots = [adapter.snapshot(), await adapter.versions?.asOf(new Date(FIRST_CREATED))].filter(
      (snapshot) => snapshot !== undefined,
    );
    try {
      await readWhile(snapshots, actsOf(snapshots[0]!));
    } finally {
      for (const snapshot of snapshots) snapshot.release();
    }
  };

  describe('reads in progress', () => {
    test('return their whole result, during any other call', (instance) =>
      readAll(instance, (snapshot) => ({ ...readsBy(snapshot), ...changesOf(target, instance, 'own') })));

    testsOverStore(target, dataset)(
      isExclusive(target),
      'return their whole result, during any call of another adapter',
      async (instance) => {
        const other = await instance.another();
        await readAll(instance, () => ({
          ...changesOf(target, other, 'other'),
          ...(!cannotChange(target) &&
            !isUnnoticed(target) && {
              'a new version that the reader notices': async () => {
                await makeCurrent(target, other, anotherDataset('noticed', '2025-04-01T00:00:00Z'));
                await isCurrent(target, instance, 'noticed');
              },
            }),
          'close() of the other adapter': () => other.adapter.close(),
        }));
      },
    );
  });
};
