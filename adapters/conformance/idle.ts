/**
 * Tests that an adapter that has been idle still notices changes in time and keeps the versions that it holds, and that
 * a publication can take long. The tests wait while the other tests of the suite run.
 */
import assert from 'node:assert/strict';
import { setTimeout as delay } from 'node:timers/promises';
import type { StorageAdapter } from 'metro-forecast-api/adapter';
import type { AdapterUnderTest } from './adapter-under-test.js';
import { failsWith, isEmpty, sameValue, within } from './expect.js';
import { anotherDataset, FIRST_CREATED, FOURTH, FOURTH_CREATED, itemsIn, THIRD, THIRD_CREATED } from './fixture.js';
import { beginToPublish, changedTo, followMs, type Instance, readsItems, startInstance } from './instance.js';
import { isExclusive, isUnnoticed, itUnless, type Obstacle, skip, without } from './obstacles.js';
import { settled } from './taking-turns.js';
import { mightStandAlone } from './tests-over.js';
import { unlimited } from './time-limits.js';

/** The longest time that a publication stays in progress, in milliseconds. */
const LONG_MS = 30_000;
/** Time limit for the beginning and the end of this publication, in milliseconds. */
const SETTLE_MS = 10_000;

/** Starts `begin` before the other tests run. Returns a function that resolves with its result. */
const startBefore = <T extends { readonly instance: { stop(): Promise<unknown> } }>(
  obstacle: Obstacle,
  begin: () => Promise<T>,
): (() => Promise<T>) => {
  let started: Promise<T> | undefined;
  if (!obstacle) {
    before(() => {
      started = begin();
      started.catch(() => {});
    });
    after(async () => (await started?.catch(() => undefined))?.instance.stop());
  }
  return () => started!;
};

/** Starts an instance, and stops it if `prepare` fails. */
const startWith = async <T>(target: AdapterUnderTest, prepare: (instance: Instance) => Promise<T>): Promise<T> => {
  const instance = await startInstance(target);
  try {
    return await prepare(instance);
  } catch (error) {
    await instance.stop();
    throw error;
  }
};

const otherOf = async (target: AdapterUnderTest, instance: Instance) => {
  const alone = isExclusive(target) || (await mightStandAlone(target, instance));
  return { alone, other: alone ? instance : await instance.another() };
};

const startHolding = (target: AdapterUnderTest) =>
  startWith(target, async (instance) => {
    await instance.adapter.publish!(anotherDataset());
    const { alone, other } = await otherOf(target, instance);
    const calls = [instance, other].map(({ changes }) => [changes, changes.length] as const);
    const snapshots = [other.adapter.snapshot(), await other.adapter.versions?.asOf(new Date(FIRST_CREATED))];
    const held = snapshots.flatMap((snapshot) => snapshot ?? []);
    return { instance, alone, other, calls, held, since: performance.now() };
  });

/**
 * Begins a publication, and at once tries to publish another version. After `LONG_MS`, or when `end` is called, tries
 * again if that was rejected, and then ends the first publication. `end` resolves with all outcomes.
 */
const publishSlowly = async (publisher: StorageAdapter, other: StorageAdapter) => {
  const since = performance.now();
  const { publication, resume } = await within('publish() begins', beginToPublish(publisher), SETTLE_MS);
  const next = other.publish!(anotherDataset(THIRD, THIRD_CREATED));
  const first = await settled(next);
  const stopping = new AbortController();
  const attempt = async () => {
    await delay(LONG_MS, undefined, { signal: stopping.signal, ref: false }).catch(() => {});
    const last = first === 'rejected' ? other.publish!(anotherDataset(FOURTH, FOURTH_CREATED)) : next;
    const outcome = await settled(last);
    resume();
    const all = Promise.allSettled([publication, next, last]);
    return { outcome, all: await within('publish() settles', all, SETTLE_MS) };
  };
  const attempting = attempt();
  attempting.catch(() => {});
  const end = () => {
    stopping.abort();
    return attempting;
  };
  return { hasLock: first !== 'fulfilled', since, end };
};

const startPublishing = (target: AdapterUnderTest) =>
  startWith(target, async (instance) => {
    const { other } = await otherOf(target, instance);
    // The time limit of publish() is shorter than this publication.
    const publishing = await publishSlowly(unlimited(instance.adapter), unlimited(other.adapter));
    const stop = async () => {
      await publishing.end().catch(() => {});
      await instance.stop();
    };
    return { ...publishing, instance: { stop } };
  });

/** Starts the idle adapters before the other tests run. Returns a function that defines the tests. */
export const startIdle = (target: AdapterUnderTest): (() => void) => {
  const publishes = without(target, 'publish');
  // Some adapters poll less often after they have been idle for a while. Such adapters must still meet the time limit.
  const idleMs = 2.5 * followMs(target);
  const holding = startBefore(publishes, () => startHolding(target));
  const publishing = startBefore(publishes, () => startPublishing(target));
  const afterWhile = async <T extends { readonly since: number }>(started: Promise<T>): Promise<T> => {
    const result = await started;
    await delay(Math.max(0, result.since + idleMs - performance.now()));
    return result;
  };

  return () => {
    describe('changed()', () => {
      itUnless(publishes, 'is not called again while nothing changes', async () => {
        const { calls } = await afterWhile(holding());
        for (const [changes, before] of calls) isEmpty(changes.slice(before), 'no further call of changed()');
      });
    });

    describe('several adapters over the same store', () => {
      itUnless(publishes || isUnnoticed(target), 'notice a change after a while without changes', async function () {
        const { alone, instance, other } = await afterWhile(holding());
        if (alone) skip(this, alone);
        const before = other.changes.length;
        await instance.adapter.publish!(anotherDataset(THIRD, THIRD_CREATED));
        await changedTo(target, [THIRD], other, before);
      });
    });

    describe('an adapter', () => {
      itUnless(publishes, 'keeps a version that is held for a while', async () => {
        const { other, held } = await afterWhile(holding());
        await other.adapter.publish!(anotherDataset(FOURTH, FOURTH_CREATED));
        const deleted = (await other.adapter.versions?.prune(0)) ?? [];
        for (const snapshot of held) {
          sameValue(deleted.includes(snapshot.version), false, 'prune(0) to keep the held versions');
          await readsItems(snapshot, itemsIn(snapshot.version));
        }
      });

      itUnless(publishes, 'completes a publication that takes a while, and keeps its store locked', async () => {
        const { hasLock, end } = await afterWhile(publishing());
        const { outcome, all } = await end();
        const [publication, ...others] = all;
        if (!hasLock) return;
        assert.notEqual(outcome, 'fulfilled', 'expected the next publication to wait, or to be rejected with conflict');
        if (publication!.status === 'rejected') throw publication!.reason;
        for (const other of others) {
          if (other.status === 'rejected') await failsWith('conflict', () => Promise.reject(other.reason));
        }
      });
    });
  };
};
