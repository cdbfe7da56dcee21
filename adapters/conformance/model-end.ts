/** Compares all audit entries and publication times of a sequence of steps with the model. */
import type { DataAuditEntry } from 'metro-forecast-api/adapter';
import { eventually, isEmpty, sameList, sameValue } from './expect.js';
import { agrees, boundaries } from './model-checks.js';
import type { Actor, State } from './model-state.js';

export interface Entry extends Pick<DataAuditEntry, 'action' | 'version'> {
  readonly replaces?: string | null | undefined;
}

/** Deletions of the same call can be in any order, so the names of consecutive deletions are sorted. */
const lines = (entries: readonly Entry[]): string[] => {
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

const asOf = async ({ opened: { adapter } }: Actor, time: number): Promise<string | undefined> => {
  const snapshot = await adapter.versions!.asOf(new Date(time));
  snapshot?.release();
  return snapshot?.version;
};

/** Releases the snapshots of the adapter, and compares the whole past with the model. */
export const agreesAtEnd = async (state: State, actor: Actor): Promise<void> => {
  await agrees(state, actor, 0);
  const { adapter } = actor.opened;
  const { moves } = state;
  for (const time of new Set(moves.flatMap((_, i) => boundaries(state, i)))) {
    const move = moves.findLast(({ since }) => since <= time);
    const expected = move && state.isStored(move.version) ? move.version.name : undefined;
    sameValue(await asOf(actor, time), expected, `asOf(${new Date(time).toISOString()}) of ${actor.name} at the end`);
  }
  for (const { by, snapshot } of state.held) if (by === actor.name) snapshot.release();
  const isReleased = async () => (await adapter.versions!.list()).every(({ current, held }) => current || !held);
  await eventually(`${actor.name} holds no version at the end`, isReleased, state.limits.followMs);
  if (moves.length === 0) return;
  const problem = actor.opened.problems.at(-1);
  sameValue(problem, undefined, `no problem of ${actor.name} at the end`);
  if (adapter.history) {
    const expected = moves.map(({ version, since }) => ({
      version: state.isStored(version) ? version.name : null,
      publishedAt: new Date(since),
    }));
    sameList((await adapter.history.read()).moves, expected, `history.read() of ${actor.name} at the end`);
  }
  if (!adapter.audit) return;
  sameList(lines(await adapter.audit.list()), lines(state.entries), `audit.list() of ${actor.name} at the end`);
  isEmpty((await adapter.audit.verify()).faults, `audit.verify() of ${actor.name} to find no errors at the end`);
};
