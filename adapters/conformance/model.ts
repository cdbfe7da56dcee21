/**
 * Compares adapters on one store with a model of the contract. The steps of a generated sequence publish (successfully
 * or not), activate or delete versions, take snapshots, close and reopen adapters, set the clock, and use a second
 * process. Some steps run while another change is in progress.
 */
import assert from 'node:assert/strict';
import { isDeepStrictEqual } from 'node:util';
import { eventually, failsWith, sameList } from './expect.js';
import type { Rows } from './fixture.js';
import { type Instance, type Opened, publicationTime } from './instance.js';
import { variedManifest } from './manifest.js';
import { atOnce } from './model-at-once.js';
import { agrees, changedAtOnce, changeTimes, follows, isOpen, shown } from './model-checks.js';
import { Elsewhere, type Prune } from './model-elsewhere.js';
import { agreesAtEnd, isReleased } from './model-end.js';
import { hold, holdAsOf, release } from './model-holds.js';
import { Meanwhile } from './model-meanwhile.js';
import { readsCurrentDuring, readsDuring } from './model-reads.js';
import { type Actor, type Limits, State } from './model-state.js';
import {
  datasetWith,
  failingDataset,
  failureOf,
  NAMES,
  newRows,
  STARTS,
  type Step,
  setClock,
  withDetails,
} from './steps.js';

/** How many versions `prune` keeps. The last number does not fit in 32 bits. */
const KEEP = [0, 1, 2, 3, 2 ** 32];
const BATCHES = [700, 1, 5];
/** The changes during which an adapter is read. */
const CHANGES = ['publish', 'activate', 'prune', 'prune'] as const;
const CHANGES_WITHOUT_VERSIONS = ['publish', 'fail', 'publish', 'publish again'] as const;

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
  readonly #elsewhere: Elsewhere;

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
    const prune: Prune = (...given) => this.#prune(...given);
    this.#elsewhere = new Elsewhere(this.state, this.#actors, prune);
  }

  /** Takes a step, and then compares what the adapters return with the model. */
  async take(step: Step): Promise<void> {
    const actor = this.#actors[step.by % this.#actors.length]!;
    await this.#act(step, actor, this.#nameOf(step));
    if (step.settles) for (const each of this.#actors) await agrees(this.state, each, step.which);
  }

  /** Without `versions`, a sequence uses a name again only while that version is current. */
  #nameOf({ kind, which, how }: Step): string {
    const name = this.#names[which % this.#names.length]!;
    const { current, limits } = this.state;
    if (limits.versions) return name;
    const isTaken = current && how % 6 === 5 && (kind === 'publish' || kind === 'fail');
    return isTaken ? current.version.name : this.state.unused(name);
  }

  async agreesAtEnd(): Promise<void> {
    for (const actor of this.#actors) await agreesAtEnd(this.state, actor);
    await this.#elsewhere.agrees(0);
    // All snapshots are released first, because list() can report snapshots of any adapter as held.
    for (const { snapshot } of this.state.held) snapshot.release();
    for (const actor of this.#actors) await isReleased(this.state, actor);
  }

  async end(how: 'close' | 'kill'): Promise<void> {
    await this.#elsewhere.end(how);
  }

  async #act(step: Step, actor: Actor, name: string): Promise<void> {
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
        return this.#prune(actor.name, how, (keep) => actor.opened.adapter.versions!.prune(keep));
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
        // A store without versions and locks cannot always reject a publication of the same version at the same time.
        const distance = state.limits.versions ? how % 4 : 1 + (how % 3);
        const target = this.#nameOf({ ...step, which: which + distance });
        return this.#meanwhile.publish([actor, how % 2 ? actor : other], [name, target], state.content(which), how);
      }
      case 'at once': {
        const names = this.#names.toSorted((a, b) => Number(!!state.find(a)) - Number(!!state.find(b)));
        return atOnce(state, this.#actors, [actor, this.#actors.find((each) => each !== actor) ?? actor], names, how);
      }
      case 'read during a change': {
        const reader = this.#actors[which % this.#actors.length]!;
        await follows(state, reader);
        const kinds = state.limits.versions ? CHANGES : CHANGES_WITHOUT_VERSIONS;
        const change = () => this.#act({ ...step, kind: kinds[how % 4]! }, actor, name);
        if (!state.limits.versions) return readsCurrentDuring(state, reader, change);
        return readsDuring(state, reader, reader !== actor, which, change);
      }
      default:
        return this.#elsewhere.act(kind, name, how);
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

  async #prune(...[by, how, prune]: Parameters<Prune>): Promise<void> {
    const { state } = this;
    const keep = KEEP[how % KEEP.length]!;
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
}
