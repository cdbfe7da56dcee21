/** Compares random reads of several versions with a reference, before, during and after changes. */
import type { StorageAdapter } from 'metro-forecast-api/adapter';
import type { AdapterUnderTest } from './adapter-under-test.js';
import { combinations } from './combinations.js';
import { readsEvery } from './every-row.js';
import { sameSequence } from './expect.js';
import { find } from './find-rows.js';
import {
  datasetOf,
  FIRST,
  FIRST_CREATED,
  FOURTH_CREATED,
  type Rows,
  SECOND,
  SECOND_CREATED,
  THIRD,
  THIRD_CREATED,
} from './fixture.js';
import { type Instance, isCurrent, makeCurrent, startInstance } from './instance.js';
import { letters } from './letter-rows.js';
import { cannotChange, isUnnoticed, itUnless } from './obstacles.js';
import { fc, holds, SEED, WITHOUT_FAST_CHECK } from './property.js';
import { collections, examples, isRight, shownReads, type Version } from './random-read.js';
import { few, randomVersions, wide, wider } from './random-rows.js';
import { answerOf } from './reference.js';
import { mightStandAlone } from './tests-over.js';

const EXAMPLES = 500;
const EXAMPLES_PER_CHANGE = 100;
/** Time limit in milliseconds. On a slow store, fewer reads are made after each change. */
const CHANGE_MS = 2000;

interface Open {
  readonly adapter: StorageAdapter;
  readonly held: readonly Version[];
}

const hold = async (target: AdapterUnderTest, instance: Instance, [first, second]: readonly [Rows, Rows]) => {
  const { adapter } = instance;
  const held: Version[] = [{ snapshot: adapter.snapshot(), rows: first }];
  if (cannotChange(target)) return held;
  await makeCurrent(target, instance, datasetOf(SECOND, SECOND_CREATED, second));
  held.push({ snapshot: adapter.snapshot(), rows: second });
  const earlier = await adapter.versions?.asOf(new Date(FIRST_CREATED));
  if (earlier) held.push({ snapshot: earlier, rows: first });
  return held;
};

const readsRightly = ({ adapter, held }: Open, count: number, seed = SEED, limitMs?: number): Promise<void> =>
  holds(
    examples(fc!),
    count,
    (example) => isRight(example, held, { adapter }),
    (example) => shownReads(example, held),
    seed,
    limitMs,
  );

/**
 * Makes one change after the other, and yields the adapter and the snapshots to read after each change. The versions keep
 * their places in the list, so that the same random reads use the same version again. Returns the rows of the current
 * version, and of the version that was published before it.
 */
async function* published(
  target: AdapterUnderTest,
  instance: Instance,
  { adapter, held }: Open,
): AsyncGenerator<Open, readonly [Rows, Rows]> {
  const [first, second] = [held[0]!.rows, held[1]!.rows];
  const third = { ...second, [wide.name]: first[wide.name]!, [letters.name]: first[letters.name]! };
  const publication = makeCurrent(target, instance, datasetOf(THIRD, THIRD_CREATED, third));
  publication.catch(() => {});
  yield { adapter, held };
  await publication;
  const current = (rows: Rows): Version => ({ snapshot: adapter.snapshot(), rows });
  const [oldest, older] = held as [Version, Version];
  const newest = current(third);
  yield { adapter, held: [oldest, older, newest] };
  const { versions } = adapter;
  if (!versions) {
    newest.snapshot.release();
    return [third, third];
  }

  await versions.activate(FIRST);
  const again = current(first);
  yield { adapter, held: [again, older, newest] };

  older.snapshot.release();
  await versions.prune(1);
  yield { adapter, held: [again, oldest, newest] };

  // The new version has the name of the deleted version, but fewer documents in each collection.
  const fewer = Object.entries(second).map(([name, documents]) => [name, documents.filter((_, i) => i % 3 > 0)]);
  const fourth: Rows = Object.fromEntries(fewer);
  await makeCurrent(target, instance, datasetOf(SECOND, FOURTH_CREATED, fourth));
  const renamed = current(fourth);
  yield { adapter, held: [oldest, renamed, newest] };
  for (const { snapshot } of [again, renamed, newest]) snapshot.release();
  return [fourth, third];
}

/** Makes the changes, then reopens the store, and yields an adapter that has noticed a publication of another one. */
async function* changes(target: AdapterUnderTest, instance: Instance, open: Open): AsyncGenerator<Open> {
  const [current, previous] = yield* published(target, instance, open);
  if (await mightStandAlone(target, instance)) return;
  await open.adapter.close();
  const { adapter } = await instance.another();
  const earlier = await adapter.versions?.asOf(new Date(THIRD_CREATED));
  const found = [
    { snapshot: adapter.snapshot(), rows: current },
    ...(earlier ? [{ snapshot: earlier, rows: previous }] : []),
  ];
  yield { adapter, held: found };
  for (const { snapshot } of found) snapshot.release();
  if (isUnnoticed(target)) return;
  const other = await instance.another();
  const { rows } = open.held[0]!;
  await makeCurrent(target, { adapter }, datasetOf('followed', '2025-01-01T00:00:00Z', rows));
  await isCurrent(target, other, 'followed');
  const followed = { snapshot: other.adapter.snapshot(), rows };
  yield { adapter: other.adapter, held: [followed] };
  followed.snapshot.release();
}

export const describeRandomReads = (target: AdapterUnderTest): void => {
  describe('random reads', () => {
    let instance: Instance;
    let held: readonly Version[] = [];
    before(async () => {
      const rows = randomVersions();
      const named = new Map(collections.map((each) => [each.name, each]));
      instance = await startInstance(target, datasetOf(FIRST, FIRST_CREATED, rows[0]), named);
      held = await hold(target, instance, rows);
    });
    after(async () => {
      for (const { snapshot } of held) snapshot.release();
      await instance?.stop();
    });

    it('return every document of each version as it was published', async () => {
      for (const { snapshot, rows } of held.slice(0, 2)) {
        for (const collection of [wide, wider, letters, few]) {
          await readsEvery(snapshot, collection, rows[collection.name]!);
        }
      }
    });

    it('combine ranges of every size with every order, direction, position and limit', async () => {
      const { snapshot, rows } = held[0]!;
      const documents = rows[wide.name]!;
      for (const query of combinations(wide, documents)) {
        sameSequence(wide, await find(snapshot, wide, query), answerOf(documents, query), query);
      }
    });

    itUnless(WITHOUT_FAST_CHECK, 'return what the reference returns, alone and at the same time', () =>
      readsRightly({ adapter: instance.adapter, held }, EXAMPLES),
    );

    itUnless(
      WITHOUT_FAST_CHECK || cannotChange(target),
      'return what the reference returns, during a publication and after each kind of change',
      async () => {
        for await (const open of changes(target, instance, { adapter: instance.adapter, held })) {
          // The same seed each time detects a cache of earlier results.
          await readsRightly(open, EXAMPLES_PER_CHANGE, SEED, CHANGE_MS);
        }
      },
    );
  });
};
