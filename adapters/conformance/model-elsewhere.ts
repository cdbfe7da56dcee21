/** The steps of generated sequences that another process takes. */
import { failsWith } from './expect.js';
import { itemsOf, rows } from './fixture.js';
import { manifestOf } from './manifest.js';
import { agreed, isServed } from './model-checks.js';
import type { Actor, State } from './model-state.js';
import { type OtherProcess, publishesInTime } from './start-process.js';
import { datasetWith, newRows, resetClock } from './steps.js';

/** @param how selects how many versions are kept */
export type Prune = (by: string, how: number, prune: (keep: number) => Promise<readonly string[]>) => Promise<void>;

export class Elsewhere {
  readonly #state: State;
  readonly #actors: readonly Actor[];
  readonly #prune: Prune;
  #process: OtherProcess | undefined;
  /** Number of publications and activations before the other process was started. */
  #movesBefore = 0;

  constructor(state: State, actors: readonly Actor[], prune: Prune) {
    this.#state = state;
    this.#actors = actors;
    this.#prune = prune;
  }

  async agrees(which: number): Promise<void> {
    if (this.#process) await isServed(this.#state, this.#process, which);
  }

  async end(how: 'close' | 'kill'): Promise<void> {
    await this.#process?.[how]();
  }

  async act(kind: 'in another process' | 'kill', name: string, how: number): Promise<void> {
    const state = this.#state;
    const { startProcess, versions } = state.limits;
    if (!startProcess || !state.current) return;
    if (!this.#process) {
      this.#movesBefore = state.moves.length;
      this.#process = startProcess();
      await this.#process.open(state.instance.folder);
    }
    const process = this.#process;
    const created = new Date(state.current.since + 1000).toISOString();
    const version = state.find(name);
    if (kind === 'kill') {
      if (version) return this.#kill(process, 'while it is idle');
      await this.#kill(process, `while it publishes "${name}"`, () => process.beginToPublish(name, created));
      // Without versions, no later step uses this name.
      return versions ? undefined : this.#publishKilled(name, created, how);
    }
    if (how % 4 === 0 && versions) return this.#prune('another process', how, process.prune);
    if (how % 4 < 2) return this.agrees(how);
    const isActivation = versions && (how % 4 === 2 || version);
    state.log.push(`another process ${isActivation ? 'activates' : 'publishes'} "${name}"`);
    if (isActivation && !version) return void (await failsWith('unknown_version', () => process.activate(name)));
    if (version === state.current.version) return process.activate(name);
    await (version ? process.activate(name) : process.publish(name, created));
    if (how % 3 === 0) await this.#kill(process, 'directly afterwards');
    const { since } = await agreed(this.#actors, state.limits.followMs, state.current.since);
    if (version) state.activated(version, since);
    else state.published(manifestOf(name, created), { ...rows, items: itemsOf(name) }, since);
  }

  /** Publishes other rows under the name of the killed publication. They must replace its rows. */
  async #publishKilled(name: string, created: string, how: number): Promise<void> {
    const state = this.#state;
    const [{ name: by, opened }] = this.#actors as [Actor];
    const manifest = manifestOf(name, created);
    const content = newRows(how);
    state.log.push(`${by} publishes "${name}", created at ${created}`);
    await publishesInTime(opened.adapter, datasetWith(manifest, content));
    const { since } = await agreed(this.#actors, state.limits.followMs, state.current!.since);
    state.published(manifest, content, since);
  }

  async #kill(process: OtherProcess, when: string, before?: () => Promise<void>): Promise<void> {
    const state = this.#state;
    // The other process uses the system clock for its locks, so the adapters in this process are reset to the system
    // clock.
    resetClock(state.instance.clock);
    state.log.push(`the clock is reset, and another process is killed ${when}`);
    await before?.();
    await process.kill();
    this.#process = undefined;
    for (const { version } of state.moves.slice(this.#movesBefore - 1)) state.leftLocked.add(version);
  }
}
