/**
 * Compares adapters on one store with a model of the contract. The steps of a generated sequence publish (successfully
 * or not), activate, delete, take snapshots, close, reopen, advance the clock, and kill a second process.
 */
import assert from 'node:assert/strict';
import { setTimeout as delay } from 'node:timers/promises';
import { eventually, failsWith, sameList, sameValue } from './expect.js';
import type { Instance, Opened } from './instance.js';
import { agreesAtEnd, type Entry } from './model-end.js';
import type { OtherProcess } from './start-process.js';
import {
  type Actor,
  datasetFor,
  failingDataset,
  type Held,
  HOUR_MS,
  hasCode,
  type Limits,
  labelOf,
  type Move,
  NAMES,
  type Step,
  type Version,
} from './steps.js';

export class Run {
  readonly log: string[] = [];
  readonly #instance: Instance;
  readonly #limits: Limits;
  readonly #actors: Actor[];
  readonly #moves: Move[] = [];
  #versions: Version[] = [];
  readonly #entries: Entry[] = [];
  #held: Held[] = [];
  #labels = 0;
  #process: OtherProcess | undefined;

  constructor(instance: Instance, others: readonly Opened[], limits: Limits) {
    this.#instance = instance;
    this.#limits = limits;
    this.#actors = [instance, ...others].map((opened, i) => ({
      name: `adapter ${i + 1}`,
      opened,
      calls: 0,
      announced: undefined,
    }));
  }

  async take({ kind, by, which }: Step): Promise<void> {
    const actor = this.#actors[by % this.#actors.length]!;
    const name = NAMES[which % NAMES.length]!;
    await this.#act(kind, actor, name, which);
    for (const each of this.#actors) await this.#agrees(each);
  }

  async agreesAtEnd(): Promise<void> {
    const model = { moves: this.#moves, versions: this.#versions, entries: this.#entries };
    for (const { opened, name } of this.#actors) await agreesAtEnd(opened, name, model);
  }

  async end(how: 'close' | 'kill'): Promise<void> {
    await this.#process?.[how]();
  }

  get #current(): Move | undefined {
    return this.#moves.at(-1);
  }

  #find(name: string): Version | undefined {
    return this.#versions.find((version) => version.name === name);
  }

  #act(kind: Step['kind'], actor: Actor, name: string, which: number): Promise<void> | void {
    const { adapter } = actor.opened;
    switch (kind) {
      case 'publish':
      case 'publish older':
        return this.#publish(actor, name, kind === 'publish older');
      case 'fail':
      case 'abort':
        return this.#fail(actor, name, kind === 'abort');
      case 'activate':
        return this.#activate(actor.name, name, () => adapter.versions!.activate(name), actor);
      case 'prune':
        return this.#prune(actor, which % 3);
      case 'hold':
        return this.#hold(actor);
      case 'hold as of':
        return this.#holdAsOf(actor, which);
      case 'release':
        return this.#release(which);
      case 'close':
        return this.#reopen(actor);
      case 'wait':
        this.log.push('an hour passes');
        this.#instance.clock.offset += HOUR_MS;
        return undefined;
      default:
        return this.#elsewhere(kind, name);
    }
  }

  /** Returns a creation time later than all previous creation times, or one far in the past. */
  #created(isOlder: boolean): string {
    if (isOlder) return '2001-01-01T00:00:00.000Z';
    return new Date((this.#current?.since ?? Date.parse('2024-01-01T00:00:00Z')) + 1000).toISOString();
  }

  async #publish(actor: Actor, name: string, isOlder: boolean): Promise<void> {
    const created = this.#created(isOlder);
    const label = `${name} ${++this.#labels}`;
    this.log.push(`${actor.name} publishes "${name}"${isOlder ? ', which is older' : ''}`);
    const { adapter } = actor.opened;
    const publish = () => adapter.publish!(datasetFor(name, created, label));
    if (this.#find(name)) return void (await failsWith('conflict', publish));
    await publish();
    const isFirst = this.#current === undefined;
    const last = this.#current;
    this.#moved(actor, { name, label }, isOlder && !isFirst ? undefined : Date.parse(created));
    this.#entries.push({ action: 'publish', version: name, replaces: last?.version.name ?? null });
    this.#versions.push(this.#current!.version);
  }

  /**
   * Records the new current version in the model, with the publication time that the adapter reports. Fails if the time
   * is invalid.
   */
  #moved(actor: Actor, { name, label }: Pick<Version, 'name' | 'label'>, expected?: number, stored?: Version): void {
    const snapshot = actor.opened.adapter.snapshot();
    snapshot.release();
    const since = snapshot.publishedAt.getTime();
    if (expected !== undefined) sameValue(snapshot.publishedAt, new Date(expected), 'publishedAt');
    const last = this.#current && new Date(this.#current.since);
    const found = snapshot.publishedAt.toISOString();
    assert(!last || snapshot.publishedAt > last, `expected publishedAt after ${last?.toISOString()}, found ${found}`);
    this.#moves.push({ version: stored ?? { name, label, publishedAt: since }, since });
  }

  async #fail({ name: by, opened: { adapter } }: Actor, name: string, isAborted: boolean): Promise<void> {
    this.log.push(`${by} publishes "${name}", which ${isAborted ? 'is aborted' : 'cannot be read to its end'}`);
    const controller = new AbortController();
    const failing = failingDataset(name, this.#created(false), isAborted ? () => controller.abort() : undefined);
    const expected = [isAborted ? 'aborted' : 'invalid_dataset', 'conflict'] as const;
    const { signal } = controller;
    await failsWith(this.#find(name) ? expected : expected.slice(0, 1), () => adapter.publish!(failing, { signal }));
  }

  async #activate(by: string, name: string, activate: () => Promise<void>, actor: Actor): Promise<void> {
    this.log.push(`${by} activates "${name}"`);
    const version = this.#find(name);
    if (!version) return void (await failsWith('unknown_version', activate));
    await activate();
    if (version === this.#current?.version) return;
    await this.#follows(actor, version);
    this.#entries.push({ action: 'activate', version: name, replaces: this.#current!.version.name });
    this.#moved(actor, version, undefined, version);
  }

  async #prune(actor: Actor, keep: number): Promise<void> {
    this.log.push(`${actor.name} prunes all but ${keep}`);
    const heldBy = (isHolder: (by: string) => boolean) =>
      new Set(this.#held.filter(({ by }) => isHolder(by)).map(({ version }) => version));
    const kept = heldBy((by) => by === actor.name);
    if (this.#current) kept.add(this.#current.version);
    // The contract allows an adapter to keep versions that only other adapters hold.
    const mayBeKept = heldBy((by) => by !== actor.name);
    const older = this.#versions.slice(0, Math.max(0, this.#versions.length - keep)).filter((each) => !kept.has(each));
    const due = older.filter((each) => !mayBeKept.has(each)).map(({ name }) => name);
    const deleted: string[] = [];
    // An adapter may keep a version for some time after another adapter has released it.
    const isDone = async () => {
      deleted.push(...(await actor.opened.adapter.versions!.prune(keep)));
      return due.every((name) => deleted.includes(name));
    };
    await eventually(`prune(${keep}) deletes ${due.join(', ')}`, isDone, this.#limits.followMs);
    const expected = older.filter((each) => !mayBeKept.has(each) || deleted.includes(each.name));
    const names = expected.map(({ name }) => name).sort();
    sameList(deleted.sort(), names, `prune(${keep}) to delete only versions that are neither current nor held`);
    this.#versions = this.#versions.filter((version) => !expected.includes(version));
    for (const version of names) this.#entries.push({ action: 'prune', version, replaces: undefined });
  }

  #hold({ name, opened: { adapter } }: Actor): void {
    if (!this.#current) return;
    this.log.push(`${name} takes a snapshot`);
    this.#held.push({ snapshot: adapter.snapshot(), version: this.#current.version, by: name });
  }

  async #holdAsOf({ name, opened: { adapter } }: Actor, which: number): Promise<void> {
    const move = this.#moves[which % Math.max(1, this.#moves.length)];
    if (!move) return;
    const until = this.#moves[this.#moves.indexOf(move) + 1]?.since ?? move.since + 1;
    this.log.push(`${name} reads "${move.version.name}" as of its time`);
    for (const time of [move.since, until - 1]) {
      const snapshot = await adapter.versions!.asOf(new Date(time));
      const isStored = this.#versions.includes(move.version);
      sameValue(snapshot?.version, isStored ? move.version.name : undefined, `asOf(${new Date(time).toISOString()})`);
      if (!snapshot) continue;
      sameValue(snapshot.publishedAt, new Date(move.since), 'publishedAt of asOf()');
      this.#held.push({ snapshot, version: move.version, by: name });
    }
  }

  #release(which: number): void {
    const held = this.#held[which % Math.max(1, this.#held.length)];
    if (!held) return;
    this.log.push(`${held.by} releases "${held.version.name}"`);
    held.snapshot.release();
    held.snapshot.release();
    this.#held = this.#held.filter((each) => each !== held);
  }

  async #reopen(actor: Actor): Promise<void> {
    if (!this.#limits.reopens) return;
    this.log.push(`${actor.name} is closed, and opened again`);
    await actor.opened.adapter.close();
    await failsWith('closed', () => actor.opened.adapter.snapshot());
    this.#held = this.#held.filter(({ by }) => by !== actor.name);
    actor.opened = await this.#instance.another();
    actor.calls = actor.opened.changes.length;
    actor.announced = this.#current;
  }

  async #elsewhere(kind: 'in another process' | 'kill', name: string): Promise<void> {
    if (!this.#limits.startProcess || !this.#current) return;
    if (!this.#process) {
      this.#process = this.#limits.startProcess();
      await this.#process.open(this.#instance.folder);
    }
    const process = this.#process;
    if (kind === 'kill') {
      this.log.push(`another process is killed while it publishes "${name}"`);
      if (!this.#find(name)) await process.beginToPublish(name, this.#created(false));
      await process.kill();
      this.#process = undefined;
      return;
    }
    return this.#activate('another process', name, () => process.activate(name), this.#actors[0]!);
  }

  async #follows({ opened: { adapter } }: Actor, { name, label }: Version): Promise<void> {
    const isServed = async () => {
      try {
        return (await labelOf(adapter.snapshot())) === label;
      } catch (error) {
        if (this.#actors.length > 1 && hasCode(error, 'unavailable')) return false;
        throw error;
      }
    };
    // A single adapter must return its own changes immediately. Other adapters can take some time to notice a change.
    if (this.#actors.length === 1) sameValue(await isServed(), true, `snapshot() to return "${name}" with its rows`);
    else await eventually(`snapshot() returns "${name}" with its rows`, isServed, this.#limits.followMs);
  }

  async #agrees(actor: Actor): Promise<void> {
    const { name, opened } = actor;
    const { adapter } = opened;
    if (!this.#current) {
      await failsWith('unavailable', () => adapter.snapshot());
      return;
    }
    const { version, since } = this.#current;
    await this.#follows(actor, version);
    const snapshot = adapter.snapshot();
    snapshot.release();
    sameValue(
      [snapshot.version, snapshot.publishedAt],
      [version.name, new Date(since)],
      `the current version of ${name}`,
    );
    const listed = (await adapter.versions!.list()).map((each) => [each.version, +each.publishedAt, each.current]);
    const expected = this.#versions.map((each) => [each.name, each.publishedAt, each === version]).reverse();
    sameList(listed, expected, `list() of ${name}`);
    for (const held of this.#held) {
      if (held.by === name)
        sameValue(await labelOf(held.snapshot, false), held.version.label, `a held snapshot of ${name}`);
    }
    await this.#announces(actor);
  }

  /** Asserts that `changed()` was called for the current version, and at most once per change. */
  async #announces(actor: Actor): Promise<void> {
    const { changes } = actor.opened;
    const version = this.#current!.version.name;
    const isNew = () => changes.length > actor.calls;
    if (actor.announced === this.#current) {
      sameList(changes.slice(actor.calls), [], `no call of changed() of ${actor.name}`);
      return;
    }
    actor.announced = this.#current;
    await eventually(`changed() is called for "${version}"`, isNew, this.#limits.followMs);
    await delay(0);
    sameList(changes.slice(actor.calls), [version], `one call of changed() of ${actor.name}`);
    actor.calls = changes.length;
  }
}
