/** The steps of generated sequences that take and release snapshots. */
import { sameValue } from './expect.js';
import { boundaries, follows, shown } from './model-checks.js';
import type { Actor, State } from './model-state.js';

export const hold = async (state: State, actor: Actor): Promise<void> => {
  if (!state.current) return;
  state.log.push(`${actor.name} takes a snapshot`);
  await follows(state, actor);
  state.held.push({ ...state.current, snapshot: actor.opened.adapter.snapshot(), by: actor.name });
};

export const holdAsOf = async (state: State, actor: Actor, which: number, how: number): Promise<void> => {
  const times = boundaries(state, which);
  const time = times[how % Math.max(1, times.length)];
  if (time === undefined) return;
  state.log.push(`${actor.name} takes a snapshot as of ${shown(time)}`);
  await follows(state, actor);
  const move = state.at(time);
  const snapshot = await actor.opened.adapter.versions!.asOf(new Date(time));
  sameValue(snapshot?.version, move?.version.name, `asOf(${shown(time)}) of ${actor.name}`);
  if (snapshot) state.held.push({ ...move!, snapshot, by: actor.name });
};

/** A caller can release a snapshot without reading a list, after it stops reading one, or while it reads one. */
const LEAVING = ['', ', after a list was left early', ' during a list'] as const;

export const release = async (state: State, which: number, how: number): Promise<void> => {
  const held = state.held[which % Math.max(1, state.held.length)];
  if (!held) return;
  const leaving = LEAVING[how % LEAVING.length]!;
  state.log.push(`${held.by} releases "${held.version.name}"${leaving}`);
  const reading = leaving ? held.snapshot.find('items', { order: ['id'] })[Symbol.asyncIterator]() : undefined;
  // Another adapter may have deleted the version.
  await reading?.next().catch(() => {});
  if (leaving === LEAVING[1]) await reading?.return?.();
  held.snapshot.release();
  held.snapshot.release();
  if (leaving === LEAVING[2]) await reading?.return?.();
  state.held = state.held.filter((each) => each !== held);
};
