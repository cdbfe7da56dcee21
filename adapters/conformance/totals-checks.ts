/** Compares the groups of an adapter with the reference. */
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Snapshot, TotalsQuery } from 'metro-forecast-api/adapter';
import { sameList, sameValue } from './expect.js';
import { inOrder, withSumsOf } from './reference.js';
import { groupsOf } from './totals-fixture.js';

/** A limit above the number of groups. */
export const MANY = 10_000;

/**
 * Asserts that the adapter returns the right groups, or undefined to let the framework compute them. Returns true if
 * the adapter has returned groups.
 */
export const sameGroups = async (snapshot: Snapshot, query: Omit<TotalsQuery, 'limit'>): Promise<boolean> => {
  const asked = { ...query, limit: MANY };
  // Conditions are copied, because all tests share them, and a broken adapter could change them.
  const found = await snapshot.totals!('notes', structuredClone(asked));
  if (!found) return false;
  const expected = groupsOf(asked);
  sameList(withSumsOf(expected, inOrder(found)), expected, `the groups of ${JSON.stringify(query)}`);
  return true;
};

/** Asserts that with a limit, the groups are any of the groups without a limit. */
export const limitsGroups = async (snapshot: Snapshot, query: Omit<TotalsQuery, 'limit'>): Promise<void> => {
  const whole = groupsOf({ ...query, limit: MANY });
  const { length } = whole;
  const byValues = new Map(whole.map((group) => [JSON.stringify(group.values), group]));
  for (const limit of new Set([1, 3, length - 1, length, length + 1, 2 ** 31, 2 ** 32, Number.MAX_SAFE_INTEGER])) {
    const found = limit > 0 && (await snapshot.totals!('notes', { ...structuredClone(query), limit }));
    if (!found) continue;
    sameValue(found.length, Math.min(limit, length), `the number of groups with limit ${limit}`);
    const groups = inOrder(found);
    const expected = [...new Set(groups.map(({ values }) => byValues.get(JSON.stringify(values))))];
    sameList(withSumsOf(expected, groups), expected, `${limit} of the groups of ${JSON.stringify(query)}`);
  }
};

/**
 * Reads totals, and asserts that each pause of their timeout has ended when they resolve. Many calls at the same time
 * have to wait for each other. Of four calls, one passes no function, and one is aborted.
 */
export const resumesEveryWait = async (snapshot: Snapshot, i: number): Promise<void> => {
  const query = { where: [], by: ['town', 'level'], of: 'share', limit: MANY };
  if (i % 4 === 1) return void (await snapshot.totals!('notes', query));
  const controller = new AbortController();
  const pauses: boolean[] = [];
  const onWait = () => {
    const at = pauses.push(true) - 1;
    return () => {
      pauses[at] = false;
    };
  };
  const reading = snapshot.totals!('notes', query, controller.signal, onWait);
  if (i % 4 === 3) setImmediate(() => controller.abort());
  const [{ status }] = await Promise.allSettled([reading]);
  const paused = pauses.filter(Boolean).length;
  const { length } = pauses;
  if (status === 'rejected') return sameValue(controller.signal.aborted, true, 'totals() to reject only if aborted');
  sameValue(paused, 0, 'each function that onWait() has returned to this caller to be called before totals() resolves');
  await nextTurn();
  sameValue(pauses.length, length, 'onWait() not to be called after totals() has resolved');
};
