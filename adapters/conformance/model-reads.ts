/** Reads from an adapter while a step of a generated sequence makes a change. */
import assert from 'node:assert/strict';
import { setImmediate as turn } from 'node:timers/promises';
import { type Snapshot, StorageError, type StorageErrorCode } from 'metro-forecast-api/adapter';
import { sameList, sameValue } from './expect.js';
import { about, readsRows, withSnapshot } from './instance.js';
import { described, shown } from './model-checks.js';
import type { Actor, State, Version } from './model-state.js';

/** Maximum number of times that the adapter is read during one change. */
const MOST_READS = 12;
/** Time limit in milliseconds. On a slow store, the adapter is read fewer times. */
const READ_MS = 1000;

const BUSY: readonly StorageErrorCode[] = ['conflict'];
const DELETED: readonly StorageErrorCode[] = ['unavailable', 'unknown_version'];

/**
 * Asserts that a list contains all versions that the change keeps, and no versions that existed neither before nor
 * after it.
 */
const isBetween = (listed: readonly { version: string }[], before: readonly Version[], after: readonly Version[]) => {
  const names = listed.map(({ version }) => version);
  const all = [...before, ...after.filter((each) => !before.includes(each))].map(({ name }) => name).reverse();
  const kept = before.filter((each) => after.includes(each)).map(({ name }) => name);
  const expected = all.filter((name) => names.includes(name) || kept.includes(name));
  sameList(names, expected, 'list() during a change to return the versions from before or after the change');
};

/** Reads repeatedly, at most `MOST_READS` times, until the change has been made. */
const repeatDuring = async (state: State, read: () => Promise<void>, change: () => Promise<void>): Promise<void> => {
  let isDone = false;
  const reading = (async () => {
    const end = performance.now() + READ_MS;
    for (let i = 0; i < MOST_READS && !isDone && performance.now() < end; i++) {
      await read();
      await turn();
    }
  })();
  state.reading = reading.catch(() => {});
  const changing = change().finally(() => {
    isDone = true;
  });
  const [changed, wasRead] = await Promise.allSettled([changing, reading]);
  if (changed.status === 'rejected') throw changed.reason;
  if (wasRead.status === 'rejected') throw wasRead.reason;
};

/** Repeatedly reads the current version while a publication may replace it. For stores without `versions`. */
export const readsCurrentDuring = async (
  state: State,
  { opened, name }: Actor,
  change: () => Promise<void>,
): Promise<void> => {
  const { current } = state;
  if (!current) return change();
  const found: string[] = [];
  const read = async (): Promise<void> => {
    await opened.adapter.ping();
    await withSnapshot(opened, async (snapshot) => {
      found.push(snapshot.version);
      if (snapshot.version !== current.version.name) return;
      const rule = `the current version of ${name} during a publication`;
      sameValue(about(snapshot), described(current), rule);
      await readsRows(snapshot, current.version.content, rule);
    });
  };
  await repeatDuring(state, read, change);
  const replaced = found.findIndex((version) => version !== current.version.name);
  const expected = found.map((_, i) => (replaced < 0 || i < replaced ? current : state.current!).version.name);
  sameList(found, expected, 'snapshot() during a publication to return the previous version and then the new one');
};

/**
 * Repeatedly reads the versions that were stored before the change, until the change has been made.
 * @param isOther whether another adapter makes the change
 */
export const readsDuring = async (
  state: State,
  { opened: { adapter }, name }: Actor,
  isOther: boolean,
  which: number,
  change: () => Promise<void>,
): Promise<void> => {
  const { current, moves } = state;
  const before = [...state.versions];
  if (!current) return change();
  const move = moves[which % moves.length]!;
  const wasStored = state.at(move.since) !== undefined;
  const lists: (readonly { version: string }[])[] = [];
  let isMissing = false;
  const read = async (): Promise<void> => {
    lists.push(await adapter.versions!.list());
    await adapter.ping();
    let snapshot: Snapshot | undefined;
    try {
      snapshot = await adapter.versions!.asOf(new Date(move.since));
      if (!snapshot) isMissing = true;
      else {
        const rule = `asOf(${shown(move.since)}) of ${name} during a change`;
        sameValue(about(snapshot), wasStored && described(move), rule);
        await readsRows(snapshot, move.version.content, rule);
      }
    } catch (error) {
      // The contract leaves open whether an adapter keeps versions that only other adapters hold.
      const codes = isOther ? [...BUSY, ...DELETED] : snapshot ? [] : BUSY;
      const mayFail = error instanceof StorageError && codes.includes(error.code);
      if (!mayFail) throw error;
    } finally {
      snapshot?.release();
    }
  };
  await repeatDuring(state, read, change);
  for (const listed of lists) isBetween(listed, before, state.versions);
  const isKept = wasStored && state.isStored(move.version);
  assert(!isKept || !isMissing, `expected asOf(${shown(move.since)}) of ${name} to return a stored version`);
};
