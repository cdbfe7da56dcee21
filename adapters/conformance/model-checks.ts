/** Compares the results of adapters with the results of the model. */
import assert from 'node:assert/strict';
import { setTimeout as delay } from 'node:timers/promises';
import { type Snapshot, StorageError, type Versions } from 'metro-forecast-api/adapter';
import { eventually, failsWith, sameList, sameValue } from './expect.js';
import { items, type Rows, readings, twins } from './fixture.js';
import { about, readsRows, withSnapshot } from './instance.js';
import type { Actor, Held, Move, State } from './model-state.js';
import { readsAnything } from './random-read.js';
import type { OtherProcess } from './start-process.js';

/** Number of random reads of the current version after a step. */
const CURRENT_READS = 3;
const FIRST_TIME = Date.parse('0001-01-01T00:00:00Z');
const LAST_TIME = Date.parse('9999-12-31T23:59:59.999Z');

export const shown = (time: number): string => new Date(time).toISOString();

/**
 * Returns the earliest and the latest time that the contract allows for a change.
 * @param previous the time of the previous version
 * @param created the time of creation. Undefined for an activation
 */
export const changeTimes = (
  previous: number | undefined,
  created: number | undefined,
  start: number,
  end: number,
): readonly [number, number] => {
  if (created !== undefined && (previous === undefined || created > previous)) return [created, created];
  const after = (now: number) => Math.max(now, previous! + 1);
  return [after(start), after(end)];
};

export const described = ({ version: { name, manifest }, since }: Move) => ({
  version: name,
  publishedAt: new Date(since),
  manifest,
});

const currentOf = ({ opened: { adapter } }: Actor) => {
  try {
    const snapshot = adapter.snapshot();
    snapshot.release();
    return about(snapshot);
  } catch (error) {
    // Another adapter may have deleted the version that this adapter serves. Reads fail until this adapter notices the
    // new current version.
    if (error instanceof StorageError && error.code === 'unavailable') return undefined;
    throw error;
  }
};

/**
 * Waits until all actors return the same current version. Returns its name and time.
 * @param after the time of the previous version
 */
export const agreed = async (
  actors: readonly Actor[],
  followMs: number,
  after = -Infinity,
): Promise<{ name: string; since: number }> => {
  const isAgreed = () => {
    const found = actors.map((actor) => currentOf(actor));
    return found.every(
      (each) =>
        each &&
        each.version === found[0]!.version &&
        +each.publishedAt === +found[0]!.publishedAt &&
        +each.publishedAt > after,
    );
  };
  await eventually('all adapters return the same current version', isAgreed, followMs);
  const { version, publishedAt } = currentOf(actors[0]!)!;
  return { name: version, since: publishedAt.getTime() };
};

/** Waits until the adapter returns the current version of the model. */
export const follows = async (state: State, actor: Actor): Promise<void> => {
  if (!state.current) return void (await failsWith('unavailable', () => actor.opened.adapter.snapshot()));
  const expected = described(state.current);
  const isCurrent = () => {
    const found = currentOf(actor);
    return found?.version === expected.version && +found.publishedAt === +expected.publishedAt;
  };
  if (!isCurrent()) {
    await eventually(`${actor.name} follows`, isCurrent, state.limits.followMs).catch(() => {});
  }
  sameValue(currentOf(actor), expected, `the current version of ${actor.name}`);
};

/** Asserts that, directly after its own change, the adapter has called `changed()` and returns the new version. */
export const changedAtOnce = (state: State, actor: Actor, before: number): void => {
  const { name } = state.current!.version;
  sameValue(
    currentOf(actor),
    described(state.current!),
    `the current version of ${actor.name}, directly after its change`,
  );
  const { changes } = actor.opened;
  assert(changes.length > before, `expected ${actor.name} to call changed() before its own change is complete`);
  sameValue(changes.at(-1), name, `the version of snapshot() at the last call of changed() of ${actor.name}`);
};

/** Waits until an adapter that was just opened serves the current version. Calls of `changed()` until then are optional. */
export const isOpen = async (state: State, actor: Actor): Promise<void> => {
  await follows(state, actor);
  actor.calls = actor.opened.changes.length;
  actor.seen = state.moves.length;
};

const isSubsequence = (found: readonly unknown[], of: readonly unknown[]): boolean => {
  let next = 0;
  for (const each of of) if (next < found.length && each === found[next]) next++;
  return next === found.length;
};

/** Asserts that `changed()` was called for the current version, and at most once for each change. */
export const announces = async (state: State, actor: Actor): Promise<void> => {
  const { changes } = actor.opened;
  const due = state.moves.slice(actor.seen).map(({ version }) => version.name);
  const isChanged = state.moves[actor.seen - 1]?.version !== state.current?.version;
  const isLast = () => changes.length > actor.calls && changes.at(-1) === due.at(-1);
  if (isChanged) await eventually(`${actor.name} calls changed() for "${due.at(-1)}"`, isLast, state.limits.followMs);
  await delay(0);
  const called = changes.slice(actor.calls);
  const isRight = isSubsequence(called, due) && (called.length === 0 || called.at(-1) === due.at(-1));
  if (!isRight) sameList(called, due, `${actor.name} to call changed() at most once for each change`);
  actor.calls = changes.length;
  actor.seen = state.moves.length;
};

/** The collections in which the steps publish rows. */
const READ = [items, items, readings, twins];

/** Compares all rows with the model, and the results of some random reads. */
export const readsContent = async (snapshot: Snapshot, content: Rows, rule: string, seed: number, count = 1) => {
  await readsRows(snapshot, content, rule);
  // Reads several versions in the same way, to detect a cache of earlier results.
  await readsAnything({ snapshot, rows: content, collections: READ }, seed, count);
};

export const readsAsOf = async (state: State, { opened: { adapter }, name }: Actor, time: number): Promise<void> => {
  const move = state.at(time);
  const snapshot = await adapter.versions!.asOf(new Date(time));
  const rule = `asOf(${shown(time)}) of ${name}`;
  try {
    sameValue(snapshot && about(snapshot), move && described(move), rule);
    if (snapshot) await readsContent(snapshot, move!.version.content, rule, state.reads);
  } finally {
    snapshot?.release();
  }
};

/**
 * Returns the first and the last millisecond in which a version was current, and the milliseconds directly before and
 * after.
 */
export const boundaries = (state: State, which: number): number[] => {
  const i = which % Math.max(1, state.moves.length);
  const move = state.moves[i];
  if (!move) return [];
  const until = state.moves[i + 1]?.since ?? move.since + 5000;
  return [...new Set([move.since - 1, move.since, until - 1, until])];
};

const readsHeld = async ({ snapshot, ...move }: Held, state: State): Promise<void> => {
  const rule = `a snapshot that ${move.by} holds`;
  sameValue(about(snapshot), described(move), rule);
  try {
    await readsContent(snapshot, move.version.content, rule, state.reads);
  } catch (error) {
    // The contract leaves open whether an adapter keeps versions that only other adapters hold.
    const isDeleted = state.limits.versions && !state.isStored(move.version);
    const mayFail = isDeleted && error instanceof StorageError && error.code === 'unavailable';
    if (!mayFail) throw error;
  }
};

type Listed = Awaited<ReturnType<Versions['list']>>;

const summaries = (listed: readonly Omit<Listed[number], 'held'>[]) =>
  listed.map(({ version, publishedAt, current }) => ({ version, publishedAt, current }));

const expectedList = ({ versions, current }: State) =>
  versions.toReversed().map((each) => ({
    version: each.name,
    publishedAt: new Date(each.publishedAt),
    current: each === current?.version,
  }));

const lists = async (state: State, { opened: { adapter }, name }: Actor): Promise<void> => {
  const listed = await adapter.versions!.list();
  sameList(summaries(listed), expectedList(state), `list() of ${name}`);
  for (const { version, by } of state.held) {
    const isHeld =
      by !== name || !state.isStored(version) || listed.find((each) => each.version === version.name)?.held;
    assert(isHeld, `expected list() of ${name} to show that "${version.name}" is held`);
  }
  // Callers can change the list, which must not affect later calls.
  if (!Object.isFrozen(listed)) (listed as unknown[]).reverse();
};

/** Compares the adapter with the model: versions, times, rows, held snapshots and calls of `changed()`. */
export const agrees = async (state: State, actor: Actor, which: number): Promise<void> => {
  await follows(state, actor);
  if (state.limits.versions) await lists(state, actor);
  if (state.current) {
    await actor.opened.adapter.ping();
    const { content } = state.current.version;
    await withSnapshot(actor.opened, (snapshot: Snapshot) =>
      readsContent(snapshot, content, `the snapshot of ${actor.name}`, state.reads, CURRENT_READS),
    );
  }
  const times = state.limits.versions ? [...boundaries(state, which), LAST_TIME, FIRST_TIME] : [];
  for (const time of times) await readsAsOf(state, actor, time);
  for (const held of state.held) if (held.by === actor.name) await readsHeld(held, state);
  await announces(state, actor);
};

/** Compares the other process with the model. */
export const isServed = async (state: State, process: OtherProcess, which: number): Promise<void> => {
  const { current, limits } = state;
  if (!current) return;
  const { version, since } = current;
  let found: { version: string; publishedAt: Date; items: readonly unknown[] } | undefined;
  const isCurrent = async () => {
    found = (await process.read()) as typeof found;
    return found?.version === version.name && +found.publishedAt === since;
  };
  await eventually(`the other process serves "${version.name}"`, isCurrent, limits.followMs);
  sameList(found!.items, version.content['items'] ?? [], 'the items in the other process');
  await process.compare(version.content, state.reads);
  if (!limits.versions) return;
  sameList(summaries(await process.list()), expectedList(state), 'list() in the other process');
  for (const time of boundaries(state, which)) {
    const move = state.at(time);
    const expected = move && { ...described(move), items: move.version.content['items'] ?? [] };
    sameValue(await process.asOf(time), expected, `asOf(${shown(time)}) in the other process`);
    if (move) await process.compare(move.version.content, state.reads, time);
  }
};
