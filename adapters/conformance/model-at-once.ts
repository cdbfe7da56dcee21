/**
 * The steps of generated sequences that make several changes at the same time. The changes must have the same result as
 * if they had been made one after the other, in any order.
 */
import assert from 'node:assert/strict';
import { setTimeout as delay, setImmediate as turn } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import { type Manifest, type Snapshot, StorageError, type StorageErrorCode } from 'metro-forecast-api/adapter';
import type { Rows } from './fixture.js';
import { manifestOf } from './manifest.js';
import { agreed, changeTimes, readsAsOf, shown } from './model-checks.js';
import { type Entry, lines } from './model-end.js';
import { type Actor, Changes, type Move, type State } from './model-state.js';
import { datasetWith, newRows } from './steps.js';

/**
 * Changes that are made at the same time. Each list has at most two publications or activations, so that the test can
 * read the times of all of them.
 */
const LISTS = [
  ['activate', 'activate'],
  ['prune', 'prune'],
  ['publish', 'publish'],
  ['publish', 'activate'],
  ['activate', 'prune'],
  ['publish', 'prune'],
  ['publish', 'publish again'],
  ['prune', 'activate', 'prune'],
] as const;
const KEEP = [1, 2, 0, 3];
/** Each change starts directly after the previous one, in the next turn of the event loop, or 1 ms later. */
const PAUSES: readonly (() => Promise<unknown> | undefined)[] = [() => undefined, () => turn(), () => delay(1)];

/** Derives the changes, the argument of `prune`, the adapters and the pause from the number `how`. */
const variantOf = (how: number) => ({
  kinds: LISTS[how % LISTS.length]!,
  keep: KEEP[Math.floor(how / LISTS.length) % KEEP.length]!,
  isByTwo: Math.floor(how / (LISTS.length * KEEP.length)) % 2 === 1,
  pause: PAUSES[Math.floor(how / (LISTS.length * KEEP.length * 2)) % PAUSES.length]!,
});

/** Number of variants with one adapter and one pause, and number of all variants. `how` is the index of a variant. */
export const VARIANTS_OF_ONE = LISTS.length * KEEP.length;
export const VARIANTS = VARIANTS_OF_ONE * 2 * PAUSES.length;

interface Change {
  readonly what: string;
  readonly publishes?: boolean;
  readonly codes: readonly StorageErrorCode[];
  make(): Promise<unknown>;
  /** Makes the change in the model. Returns false if the adapter must reject the change in this state. */
  apply(to: Changes, result: unknown, sinceOf: (index: number) => number | undefined): boolean;
}

const publishing = ({ name: by, opened }: Actor, manifest: Manifest, content: Rows): Change => ({
  what: `${by} publishes "${manifest.version}", created at ${manifest.created}`,
  publishes: true,
  codes: ['conflict'],
  make: () => opened.adapter.publish!(datasetWith(manifest, content, 1)),
  apply(to, _result, sinceOf) {
    const since = sinceOf(to.moves.length);
    if (since === undefined || to.find(manifest.version)) return false;
    to.published(manifest, content, since);
    return true;
  },
});

const activating = ({ name: by, opened }: Actor, name: string, isStored: boolean): Change => ({
  what: `${by} activates "${name}"`,
  codes: isStored ? ['conflict', 'unknown_version'] : ['unknown_version', 'conflict'],
  make: () => opened.adapter.versions!.activate(name),
  apply(to, _result, sinceOf) {
    const version = to.find(name);
    if (!version) return false;
    if (version === to.current?.version) return true;
    const since = sinceOf(to.moves.length);
    if (since === undefined) return false;
    to.activated(version, since);
    return true;
  },
});

const pruning = ({ name: by, opened }: Actor, keep: number, state: State): Change => ({
  what: `${by} prunes all but ${keep}`,
  codes: ['conflict'],
  make: () => opened.adapter.versions!.prune(keep),
  apply(to, result, _sinceOf) {
    const names = result as readonly string[];
    const isHeld = (name: string) => state.held.some((held) => held.by === by && held.version.name === name);
    const older = to.versions.slice(0, Math.max(0, to.versions.length - keep));
    const deletable = older.filter(({ name }) => name !== to.current?.version.name && !isHeld(name));
    // Two deletions at the same time may both return the same version.
    to.deleted(deletable.filter(({ name }) => names.includes(name)));
    const entries = to.entries.slice(state.entries.length);
    return names.every((name) => entries.some(({ action, version }) => action === 'prune' && version === name));
  },
});

const changesOf = (
  state: State,
  actors: readonly [Actor, Actor],
  names: readonly string[],
  how: number,
): readonly Change[] => {
  const { kinds, keep, isByTwo } = variantOf(how);
  const { versions } = state;
  let created = Date.parse(state.created(how));
  return kinds.map((kind, i) => {
    const actor = actors[isByTwo ? i % 2 : 0]!;
    if (kind === 'prune') return pruning(actor, keep, state);
    if (kind === 'activate') {
      const version = versions[(how + i) % Math.max(1, versions.length)];
      return activating(actor, version?.name ?? names[0]!, version !== undefined);
    }
    created += 500;
    const name = names[kind === 'publish' ? i : 0]!;
    return publishing(actor, manifestOf(name, shown(created)), newRows(1));
  });
};

const permutations = <T>(items: readonly T[]): T[][] =>
  items.length === 0
    ? [[]]
    : items.flatMap((item, i) => permutations(items.toSpliced(i, 1)).map((others) => [item, ...others]));

interface Done {
  readonly change: Change;
  readonly result: unknown;
}

interface FoundMove {
  readonly name: string | undefined;
  readonly since: number;
}

/**
 * Returns the versions that became current after `base`, oldest first.
 * @param most the search ends after one more version than this
 */
const findMoves = async ({ opened }: Actor, last: FoundMove, base: Move | undefined, most: number) => {
  const moves: FoundMove[] = [];
  let move: FoundMove | undefined = last;
  while (move && moves.length <= most && move.since > (base?.since ?? -Infinity)) {
    moves.unshift(move);
    const snapshot: Snapshot | undefined = await opened.adapter.versions!.asOf(new Date(move.since - 1));
    snapshot?.release();
    move = snapshot && { name: snapshot.version, since: snapshot.publishedAt.getTime() };
  }
  return moves;
};

/** Starts all changes. Returns the results of the successful ones. The others must reject with an allowed code. */
const make = async (changes: readonly Change[], pause: () => Promise<unknown> | undefined): Promise<Done[]> => {
  const made: Promise<unknown>[] = [];
  for (const change of changes) {
    const making = change.make();
    // Rejections are handled immediately, because an unhandled rejection would crash the process.
    making.catch(() => {});
    made.push(making);
    await pause();
  }
  const outcomes = await Promise.allSettled(made);
  return changes.flatMap((change, i) => {
    const outcome = outcomes[i]!;
    if (outcome.status === 'fulfilled') return [{ change, result: outcome.value }];
    const reason: unknown = outcome.reason;
    const isRight = reason instanceof StorageError && change.codes.includes(reason.code);
    assert(isRight, `expected only ${change.codes.join(' or ')} when ${change.what}; got ${reason}`);
    return [];
  });
};

const areTimes = (added: readonly Move[], before: number | undefined, start: number, end: number): boolean => {
  let previous = before;
  return added.every(({ version, since }) => {
    const created = since === version.publishedAt ? Date.parse(version.manifest.created) : undefined;
    const [least, most] = changeTimes(previous, created, start, end);
    previous = since;
    return since >= least && since <= most;
  });
};

/**
 * Makes changes at the same time. Finds an order in which the same changes, one after another, have the same result in
 * the model.
 * @param names the names of new versions
 */
export const atOnce = async (
  state: State,
  all: readonly Actor[],
  actors: readonly [Actor, Actor],
  names: readonly string[],
  how: number,
): Promise<void> => {
  const changes = changesOf(state, actors, names, how);
  const { current: base, moves, entries } = state;
  const count = moves.length;
  const start = state.instance.clock.now();
  state.log.push(`at the same time, ${changes.map(({ what }) => what).join(', and ')}`);
  const done = await make(changes, variantOf(how).pause);
  const isEmpty = !base && !done.some(({ change }) => change.publishes);
  if (isEmpty) return;

  const { adapter } = all[0]!.opened;
  const last = await agreed(all, state.limits.followMs);
  const listed = (await adapter.versions!.list()).map(({ version, publishedAt, current }) => ({
    name: version,
    publishedAt: publishedAt.getTime(),
    current,
  }));
  const found = { listed, moves: await findMoves(all[0]!, last, base, changes.length) };
  const audited = ((await adapter.audit?.list()) ?? []).slice(entries.length);
  const end = state.instance.clock.now();
  const orders = permutations(done).flatMap((order) => {
    const after = new Changes(state);
    const isPossible = order.every(({ change, result }) =>
      change.apply(after, result, (index) => found.moves[index - count]?.since),
    );
    const added = after.moves.slice(count);
    const expected = {
      listed: after.versions.toReversed().map((version) => ({
        name: version.name,
        publishedAt: version.publishedAt,
        current: version === after.current?.version,
      })),
      moves: added.map(({ version, since }) => ({ name: version.name, since })),
    };
    const isSame = isPossible && isDeepStrictEqual(found, expected) && areTimes(added, base?.since, start, end);
    return isSame ? [after] : [];
  });
  const right = orders[0];
  const results = done.map(({ change, result }) => `${change.what}: ${JSON.stringify(result) ?? 'done'}`).join('\n  ');
  assert(right, `expected the result of the changes in any order, found ${JSON.stringify(found)} after\n  ${results}`);
  // If prune() deletes several versions, an adapter may record another change between two deletions.
  const sorted = (all: readonly Entry[]) => all.flatMap((entry) => lines([entry])).sort();
  const made = right.entries.splice(entries.length);
  right.entries.push(...(isDeepStrictEqual(sorted(audited), sorted(made)) ? audited : made));
  state.adopt(right);
  for (const { since } of moves.slice(count)) await readsAsOf(state, all[0]!, since);
};
