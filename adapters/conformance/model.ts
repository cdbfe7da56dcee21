/**
 * Compares adapters on one store with a model of the contract. The steps of a generated sequence publish (successfully
 * or not), activate or delete versions, take snapshots, close and reopen adapters, set the clock, and use a second
 * process. Some steps run while another change is in progress.
 */
import assert from 'node:assert/strict';
import { isDeepStrictEqual } from 'node:util';
import { eventually, failsWith, sameList } from './expect.js';
import { itemsOf, type Rows, rows } from './fixture.js';
import { type Instance, type Opened, publicationTime } from './instance.js';
import { manifestOf, variedManifest } from './manifest.js';
import { atOnce } from './model-at-once.js';
import { agreed, agrees, changedAtOnce, changeTimes, follows, isOpen, isServed, shown } from './model-checks.js';
import { agreesAtEnd, isReleased } from './model-end.js';
import { hold, holdAsOf, release } from './model-holds.js';
import { Meanwhile } from './model-meanwhile.js';
import { readsDuring } from './model-reads.js';
import { type Actor, type Limits, State } from './model-state.js';
import type { OtherProcess } from './start-process.js';
import {
  datasetWith,
  failingDataset,
  failureOf,
  NAMES,
  newRows,
  resetClock,
  STARTS,
  type Step,
  setClock,
  withDetails,
} from './steps.js';

/** How many versions `prune` keeps. The last number does not fit in 32 bits. */
const KEEP = [0, 1, 2, 3, 2 ** 32];
const BATCHES = [700, 1, 5];

export interface World {
  readonly names: number;
  readonly start: number;
  /** Selects the random reads, which are repeated during the sequence. */
  readonly reads: number;
}

export class Run {
  readonly state: State;
  readonly #actors: Actor[];
  readonly #names: readonly string[];
  readonly #meanwhile: Meanwhile;
  #process: OtherProcess | undefined;
  /** Number of publications and activations before the other process was started. */
  #movesBefore = 0;

  constructor(instance: Instance, others: readonly Opened[], limits: Limits, { names, start, reads }: World) {
    this.state = new State(instance, limits, STARTS[start % STARTS.length]!, reads);
    this.#names = NAMES[names % NAMES.length]!;
    this.#actors = [instance, ...others].map((opened, i) => ({
      name: `adapter ${i + 1}`,
      opened,
      calls: opened.changes.length,
      seen: 0,
    }));
    this.#meanwhile = new Meanwhile(this.state, this.#actors);
  }

  /** Takes a step, and then compares what the adapters return with the model. */
  async take(step: Step): Promise<void> {
    const actor = this.#actors[step.by % this.#actors.length]!;
    await this.#act(step, actor, this.#names[step.which % this.#names.length]!);
    if (step.settles) for (const each of this.#actors) await agrees(this.state, each, step.which);
  }

  async agreesAtEnd(): Promise<void> {
    for (const actor of this.#actors) await agreesAtEnd(this.state, actor);
    if (this.#process) await isServed(this.state, this.#process, 0);
    // All snapshots are released first, because list() can report snapshots of any adapter as held.
    for (const { snapshot } of this.state.held) snapshot.release();
    for (const actor of this.#actors) await isReleased(this.state, actor);
  }

  async end(how: 'close' | 'kill'): Promise<void> {
    await this.#process?.[how]();
  }

  async #act(step: Pick<Step, 'kind' | 'which' | 'how'>, actor: Actor, name: string): Promise<void> {
    const { kind, which, how } = step;
    const { state } = this;
    switch (kind) {
      case 'publish':
        return this.#publish(actor, name, which, state.content(how));
      case 'publish again':
        return this.#publishAgain(actor, which);
      case 'fail':
        return this.#fail(actor, name, how);
      case 'activate':
        return this.#activate(actor, name);
      case 'prune':
        return this.#prune(actor.name, KEEP[how % KEEP.length]!, (keep) => actor.opened.adapter.versions!.prune(keep));
      case 'hold':
        return hold(state, actor);
      case 'hold as of':
        return holdAsOf(state, actor, which, how);
      case 'release':
        return release(state, which, how);
      case 'close':
        return this.#reopen([actor]);
      case 'close all':
        return this.#reopen(this.#actors);
      case 'open another':
        return this.#openAnother();
      case 'set the clock':
        // The locks of a killed process might never expire if the clock stops or goes back. The clock only moves
        // forward while such locks exist.
        state.log.push(setClock(state.instance.clock, state.leftLocked.size > 0 ? 0 : how));
        return undefined;
      case 'meanwhile': {
        if (state.find(name)) return this.#activate(actor, name);
        const other = this.#actors[(actor === this.#actors[0] ? 1 : 0) % this.#actors.length]!;
        const target = this.#names[(which + (how % 4)) % this.#names.length]!;
        return this.#meanwhile.publish([actor, how % 2 ? actor : other], [name, target], state.content(which), how);
      }
      case 'at once': {
        const names = this.#names.toSorted((a, b) => Number(!!state.find(a)) - Number(!!state.find(b)));
        return atOnce(state, this.#actors, [actor, this.#actors.find((each) => each !== actor) ?? actor], names, how);
      }
      case 'read during a change': {
        const reader = this.#actors[which % this.#actors.length]!;
        await follows(state, reader);
        const change = (['publish', 'activate', 'prune', 'prune'] as const)[how % 4]!;
        return readsDuring(state, reader, reader !== actor, which, () =>
          this.#act({ ...step, kind: change }, actor, name),
        );
      }
      default:
        return this.#elsewhere(kind, name, how);
    }
  }

  async #publish(actor: Actor, name: string, which: number, content: Rows): Promise<void> {
    const { state } = this;
    const manifest = variedManifest(name, state.created(which), which);
    const { created } = manifest;
    state.log.push(`${actor.name} publishes "${name}", created at ${created}`);
    const { adapter, changes } = actor.opened;
    const stored = state.find(name);
    if (stored) {
      const similar = withDetails(stored.content, which);
      const other = isDeepStrictEqual(similar, stored.content) ? newRows(0) : similar;
      return void (await failsWith('conflict', () => adapter.publish!(datasetWith(manifest, other))));
    }
    const before = changes.length;
    const start = state.instance.clock.now();
    await adapter.publish!(datasetWith(manifest, content, BATCHES[which % BATCHES.length]));
    state.published(manifest, content, this.#timeOfPublication(actor, created, start));
    changedAtOnce(state, actor, before);
  }

  /**
   * Returns the publication time that the adapter reports for its last change. Fails if this time breaks the contract.
   */
  #timeOfPublication(actor: Actor, created: string | undefined, start: number): number {
    const { current, instance } = this.state;
    const found = publicationTime(actor.opened);
    const time = created === undefined ? undefined : Date.parse(created);
    const [least, most] = changeTimes(current?.since, time, start, instance.clock.now());
    const isRight = found >= least && found <= most;
    assert(isRight, `expected a time from ${shown(least)} to ${shown(most)}, found ${shown(found)}`);
    return found;
  }

  async #publishAgain({ name: by, opened: { adapter } }: Actor, which: number): Promise<void> {
    const { versions, log } = this.state;
    const version = versions[which % Math.max(1, versions.length)];
    if (!version) return;
    const { name, manifest, content } = version;
    log.push(`${by} publishes "${name}" again, with the same content`);
    const [settled] = await Promise.allSettled([adapter.publish!(datasetWith(manifest, content))]);
    if (settled.status === 'rejected') await failsWith('conflict', () => Promise.reject(settled.reason));
  }

  async #fail({ name: by, opened: { adapter } }: Actor, name: string, how: number): Promise<void> {
    const [failure, ...codes] = failureOf(how);
    const at = how % 2 ? 'items' : 'crowd';
    this.state.log.push(`${by} publishes "${name}", but ${failure} at "${at}"`);
    const controller = new AbortController();
    const { signal } = controller;
    if (failure === 'it was aborted before') controller.abort();
    const failing = failingDataset(name, this.state.created(how), failure, at, () => controller.abort());
    const isTaken = this.state.find(name) !== undefined;
    await failsWith(isTaken ? [...codes, 'conflict'] : codes, () => adapter.publish!(failing, { signal }));
  }

  async #activate(actor: Actor, name: string): Promise<void> {
    const { state } = this;
    const { adapter, changes } = actor.opened;
    state.log.push(`${actor.name} activates "${name}"`);
    const version = state.find(name);
    if (!version) return void (await failsWith('unknown_version', () => adapter.versions!.activate(name)));
    const [before, start] = [changes.length, state.instance.clock.now()];
    await adapter.versions!.activate(name);
    if (version === state.current?.version) return;
    state.activated(version, this.#timeOfPublication(actor, undefined, start));
    changedAtOnce(state, actor, before);
  }

  async #prune(by: string, keep: number, prune: (keep: number) => Promise<readonly string[]>): Promise<void> {
    const { state } = this;
    state.log.push(`${by} prunes all but ${keep}`);
    const heldBy = (isHolder: (by: string) => boolean) =>
      new Set(state.held.filter((held) => isHolder(held.by)).map(({ version }) => version));
    const kept = heldBy((holder) => holder === by);
    if (state.current) kept.add(state.current.version);
    // The contract leaves open whether an adapter keeps versions that only other adapters hold.
    const mayBeKept = new Set([...heldBy((holder) => holder !== by), ...state.leftLocked]);
    const older = state.versions.slice(0, Math.max(0, state.versions.length - keep)).filter((each) => !kept.has(each));
    const due = older.filter((each) => !mayBeKept.has(each)).map(({ name }) => name);
    const deleted: string[] = [];
    // An adapter may keep a version for some time after another adapter has released it.
    const isDone = async () => {
      deleted.push(...(await prune(keep)));
      return due.every((name) => deleted.includes(name));
    };
    if (!(await isDone())) {
      await state.reading;
      await eventually(`prune(${keep}) deletes ${due.join(', ')}`, isDone, state.limits.followMs);
    }
    const expected = older.filter((each) => !mayBeKept.has(each) || deleted.includes(each.name));
    const names = expected.map(({ name }) => name).sort();
    sameList(deleted.sort(), names, `prune(${keep}) to delete only versions that are neither current nor held`);
    state.deleted(expected);
  }

  async #reopen(actors: readonly Actor[]): Promise<void> {
    const { state } = this;
    if (!state.limits.reopens) return;
    for (const { name, opened } of actors) {
      state.log.push(`${name} is closed`);
      await opened.adapter.close();
      await failsWith('closed', () => opened.adapter.snapshot());
      for (const held of state.held) if (held.by === name) held.snapshot.release();
      state.held = state.held.filter(({ by }) => by !== name);
    }
    for (const actor of actors) {
      state.log.push(`${actor.name} is opened again`);
      actor.opened = await state.instance.another();
      await isOpen(state, actor);
    }
  }

  async #openAnother(): Promise<void> {
    const { state } = this;
    // In an exclusive store, opening another adapter closes the first one.
    if (this.#actors.length === 1) return;
    state.log.push('another adapter is opened and closed');
    const opened = await state.instance.another();
    const another = { name: 'another adapter', opened, calls: 0, seen: 0 };
    await isOpen(state, another);
    await agrees(state, another, state.moves.length - 1);
    await opened.adapter.close();
  }

  async #kill(process: OtherProcess, when: string, before?: () => Promise<void>): Promise<void> {
    const { state } = this;
    // The other process uses the system clock for its locks, so the adapters in this process are reset to the system
    // clock.
    resetClock(state.instance.clock);
    state.log.push(`the clock is reset, and another process is killed ${when}`);
    await before?.();
    await process.kill();
    this.#process = undefined;
    for (const { version } of state.moves.slice(this.#movesBefore - 1)) state.leftLocked.add(version);
  }

  async #elsewhere(kind: 'in another process' | 'kill', name: string, how: number): Promise<void> {
    const { state } = this;
    if (!state.limits.startProcess || !state.current) return;
    if (!this.#process) {
      this.#movesBefore = state.moves.length;
      this.#process = state.limits.startProcess();
      await this.#process.open(state.instance.folder);
    }
    const process = this.#process;
    const created = new Date(state.current.since + 1000).toISOString();
    const version = state.find(name);
    if (kind === 'kill') {
      if (version) return this.#kill(process, 'while it is idle');
      return this.#kill(process, `while it publishes "${name}"`, () => process.beginToPublish(name, created));
    }
    if (how % 4 === 0) return this.#prune('another process', KEEP[how % KEEP.length]!, process.prune);
    if (how % 4 === 1) return isServed(state, process, how);
    const isActivation = how % 4 === 2 || version;
    state.log.push(`another process ${isActivation ? 'activates' : 'publishes'} "${name}"`);
    if (isActivation && !version) return void (await failsWith('unknown_version', () => process.activate(name)));
    if (version === state.current.version) return process.activate(name);
    await (version ? process.activate(name) : process.publish(name, created));
    if (how % 3 === 0) await this.#kill(process, 'directly afterwards');
    const { since } = await agreed(this.#actors, state.limits.followMs, state.current.since);
    if (version) state.activated(version, since);
    else state.published(manifestOf(name, created), { ...rows, items: itemsOf(name) }, since);
  }
}
