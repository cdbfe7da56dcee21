/** After a sequence of steps: compares the audit log and all publication times with the model. */
import type { DataAuditEntry } from 'metro-forecast-api/adapter';
import { eventually, isEmpty, sameList, sameValue } from './expect.js';
import { versionAsOf } from './instance.js';
import { agrees, boundaries, shown } from './model-checks.js';
import type { Actor, State } from './model-state.js';

export interface Entry extends Pick<DataAuditEntry, 'action' | 'version'> {
  readonly replaces?: string | null | undefined;
}

/** Sorts consecutive deletions by name, because one call of `prune()` can delete versions in any order. */
export const lines = (entries: readonly Entry[]): string[] => {
  const found: string[] = [];
  let deleted: string[] = [];
  const end = () => {
    found.push(...deleted.sort());
    deleted = [];
  };
  for (const { action, version, replaces } of entries) {
    if (action === 'prune') deleted.push(`prune ${version}`);
    else {
      end();
      found.push(`${action} ${version}, replaces ${replaces}`);
    }
  }
  end();
  return found;
};

/** Asserts that no version is locked after all snapshots were released. */
export const isReleased = async (state: State, { name, opened: { adapter } }: Actor): Promise<void> => {
  if (!state.limits.versions) return;
  const mayBeHeld = (version: string) => [...state.leftLocked].some((each) => each.name === version);
  const isFree = async () =>
    (await adapter.versions!.list()).every(({ version, current, held }) => current || !held || mayBeHeld(version));
  await eventually(`list() of ${name} shows no held version at the end`, isFree, state.limits.followMs);
};

/** Compares what `asOf()`, `list()` and the audit return with the model, for all changes of the sequence. */
export const agreesAtEnd = async (state: State, actor: Actor): Promise<void> => {
  await agrees(state, actor, 0);
  const { adapter } = actor.opened;
  const { moves, limits } = state;
  const times = limits.versions ? moves.flatMap((_, i) => boundaries(state, i)) : [];
  for (const time of new Set(times)) {
    const found = await versionAsOf(actor.opened, time);
    sameValue(found, state.at(time)?.version.name, `asOf(${shown(time)}) of ${actor.name} at the end`);
  }
  if (moves.length === 0) return;
  const problem = actor.opened.problems.at(-1);
  sameValue(problem, undefined, `no problem of ${actor.name} at the end`);
  if (adapter.history) {
    const expected = moves.map(({ version, since }) => ({
      version: state.isStored(version) ? version.name : null,
      publishedAt: new Date(since),
    }));
    const found = (await adapter.history.read()).moves;
    // Without `versions`, an adapter may forget earlier changes.
    const count = limits.versions ? expected.length : 1;
    const rule = `history.read() of ${actor.name} at the end`;
    sameList(limits.versions ? found : found.slice(-1), expected.slice(-count), rule);
  }
  if (!adapter.audit) return;
  // Publishing the same content again may leave an entry.
  const entries = (await adapter.audit.list()).filter(({ version, replaces }) => version !== replaces);
  sameList(lines(entries), lines(state.entries), `audit.list() of ${actor.name} at the end`);
  isEmpty((await adapter.audit.verify()).faults, `audit.verify() of ${actor.name} to find no errors at the end`);
};
