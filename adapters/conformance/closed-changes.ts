/** Tests changes whose adapter is closed while they are made. */
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { AdapterUnderTest } from './adapter-under-test.js';
import { failsWith, isEmpty, sameValue, within } from './expect.js';
import { datasetOf } from './fixture.js';
import { type Instance, namesOf, type Opened, versionOf } from './instance.js';
import { NEXT, SETTLE_MS } from './interrupted.js';
import { standsAlone, without } from './obstacles.js';
import { testsOverStore } from './tests-over.js';

/** The adapter is closed this many turns of the event loop after a change was started. */
const TURNS = [0, 1, 2, 3, 5, 10];
const CHANGES = ['publish', 'activate', 'prune'] as const;

/** Closes the adapter `turns` after it has started a change. Returns an adapter that was opened afterwards. */
const closeDuring = async (
  instance: Instance,
  { adapter }: Pick<Opened, 'adapter'>,
  change: (typeof CHANGES)[number],
  i: number,
): Promise<Opened> => {
  const created = (n: number) => new Date(Date.UTC(2025, 0, 1, i, n)).toISOString();
  const previous = versionOf(adapter);
  const [current, next] = [`current-${i}`, `next-${i}`];
  await adapter.publish!(datasetOf(current, created(0), NEXT));
  const calls = {
    publish: () => adapter.publish!(datasetOf(next, created(1))),
    activate: () => adapter.versions!.activate(previous),
    prune: () => adapter.versions!.prune(1),
  };
  const settling = Promise.allSettled<unknown>([calls[change]()]);
  for (let n = 0; n < TURNS[i % TURNS.length]!; n++) await nextTurn();
  await adapter.close();
  const [settled] = await within('a change settles after close()', settling, SETTLE_MS);
  const last = await instance.another();
  const found = versionOf(last.adapter);
  const after = { publish: next, activate: previous, prune: current }[change];
  if (settled!.status === 'rejected') {
    await failsWith(['closed', 'conflict'], () => Promise.reject(settled!.reason));
    if (change !== 'activate') sameValue(found, current, `${change}() that has rejected to change nothing`);
    return last;
  }
  sameValue(found, after, `${change}() that has resolved to have its effect after its adapter is closed`);
  if (change !== 'prune') return last;
  const deleted = settled!.value as readonly string[];
  const kept = (await namesOf(last)).filter((name) => deleted.includes(name));
  isEmpty(kept, 'prune() to have deleted the versions that it returns');
  return last;
};

export const describeClosedChanges = (target: AdapterUnderTest): void => {
  const publishes = without(target, 'publish');
  const testStore = testsOverStore(target);

  describe('a change in progress when its adapter is closed', () => {
    testStore(publishes || standsAlone(target), 'has its effect, or rejects', async (instance) => {
      let opened = await instance.another();
      const changes = target.capabilities.versions ? CHANGES : CHANGES.slice(0, 1);
      for (const [n, change] of changes.entries()) {
        for (const i of TURNS.keys()) opened = await closeDuring(instance, opened, change, n * TURNS.length + i);
      }
    });
  });
};
