/** Steps of the generated sequences. Each makes a change while a publication is in progress. */
import assert from 'node:assert/strict';
import { setTimeout as delay } from 'node:timers/promises';
import { type Manifest, StorageError, type StorageErrorCode } from 'metro-forecast-api/adapter';
import { sameList, sameValue } from './expect.js';
import type { Rows } from './fixture.js';
import { beginToPublish, readsRows, versionAsOf, withSnapshot } from './instance.js';
import { manifestOf, variedManifest } from './manifest.js';
import { agreed, announces, changedAtOnce, follows, shown } from './model-checks.js';
import type { Actor, State } from './model-state.js';
import { datasetWith, failingDataset, newRows } from './steps.js';

/** Milliseconds after which a call counts as waiting for the publication. */
const WAIT_MS = 30;

type Outcome = PromiseSettledResult<unknown>;
const isDone = ({ status }: Outcome): boolean => status === 'fulfilled';

const failedWith = (outcome: Outcome, codes: readonly StorageErrorCode[], what: string): void => {
  const reason: unknown = outcome.status === 'rejected' ? outcome.reason : 'no error';
  const isRight = reason instanceof StorageError && codes.includes(reason.code);
  assert(isRight, `expected ${what} to reject with ${codes.join(' or ')}, got ${reason}`);
};

/** Two adapters, or one adapter twice. The first one publishes `name`. */
interface Both {
  readonly actor: Actor;
  readonly other: Actor;
  readonly name: string;
  readonly manifest: Manifest;
  readonly content: Rows;
}

/** The publication and the other change, and whether the other change settled first. */
interface Outcomes {
  readonly published: Outcome;
  readonly changed: Outcome;
  readonly isFirst: boolean;
}

export class Meanwhile {
  readonly #state: State;
  readonly #actors: readonly Actor[];

  constructor(state: State, actors: readonly Actor[]) {
    this.#state = state;
    this.#actors = actors;
  }

  /** @param how selects what the other adapter does during the publication */
  async publish(
    [actor, other]: readonly [Actor, Actor],
    [name, target]: readonly [string, string],
    content: Rows,
    how: number,
  ) {
    const both = { actor, other, name, manifest: variedManifest(name, this.#state.created(0), how), content };
    const always = [() => this.#read(both), () => this.#publish(both, target), () => this.#fail(both, target)];
    const onVersions = [
      () => this.#activate(both, target),
      () => this.#prune(both, how % 4),
      () => this.#publish(both, name),
    ];
    const acts = this.#state.limits.versions ? [...always, ...onVersions] : always;
    await acts[Math.floor(how / 4) % acts.length]!();
  }

  /** @param isRead whether `act` only reads, so that it must settle while the publication is in progress */
  async #during(
    { actor, other, name, manifest, content }: Both,
    what: string,
    act: () => Promise<unknown>,
    isRead = false,
  ): Promise<Outcomes> {
    this.#state.log.push(`${actor.name} publishes "${name}". Meanwhile, ${other.name} ${what}`);
    const { publication, resume } = await beginToPublish(actor.opened.adapter, datasetWith(manifest, content));
    let isFirst = false;
    let change: Promise<unknown> | undefined;
    try {
      change = act();
      const settled = () => true;
      const settling = change.then(settled, settled);
      isFirst = await (isRead ? settling : Promise.race([settling, delay(WAIT_MS, false)]));
    } finally {
      resume();
      publication.catch(() => {});
    }
    const [published, changed] = await Promise.allSettled([publication, change]);
    return { published, changed, isFirst };
  }

  /**
   * Records the publication. It must have succeeded, and nothing else may have changed the current version in the
   * meantime.
   */
  #mustSucceed(both: Both, { published }: Outcomes, before: number): void {
    if (published.status === 'rejected') throw published.reason;
    this.#state.published(both.manifest, both.content, Date.parse(both.manifest.created));
    changedAtOnce(this.#state, both.actor, before);
  }

  async #read(both: Both): Promise<void> {
    const { adapter, changes } = both.other.opened;
    const before = both.actor.opened.changes.length;
    const { current, versions, limits } = this.#state;
    await follows(this.#state, both.other);
    await announces(this.#state, both.other);
    const calls = changes.length;
    const read = async () => {
      if (limits.versions) {
        const listed = (await adapter.versions!.list()).map(({ version }) => version);
        sameList(listed, versions.map((each) => each.name).reverse(), 'list() during a publication');
      }
      if (!current) return;
      await adapter.ping();
      await withSnapshot(both.other.opened, async (snapshot) => {
        sameValue(snapshot.version, current.version.name, 'snapshot()');
        await readsRows(snapshot, current.version.content, 'a snapshot during a publication');
      });
      if (limits.versions) {
        const found = await versionAsOf(both.other.opened, current.since);
        sameValue(found, current.version.name, 'asOf() during a publication');
      }
      sameValue(changes.length, calls, 'the number of calls of changed() during a publication');
    };
    const outcomes = await this.#during(both, 'reads', read, true);
    if (outcomes.changed.status === 'rejected') throw outcomes.changed.reason;
    this.#mustSucceed(both, outcomes, before);
  }

  async #prune(both: Both, keep: number): Promise<void> {
    const { versions, held, current } = this.#state;
    const { adapter } = both.other.opened;
    const before = both.actor.opened.changes.length;
    const outcomes = await this.#during(both, `prunes all but ${keep}`, () => adapter.versions!.prune(keep));
    const entry = (await adapter.audit?.list())?.at(-1);
    const isFirst = outcomes.isFirst || entry?.action === 'publish';
    if (!isFirst) this.#mustSucceed(both, outcomes, before);
    if (isDone(outcomes.changed)) {
      const names = (outcomes.changed as PromiseFulfilledResult<readonly string[]>).value;
      const kept = new Set(held.filter(({ by }) => by === both.other.name).map(({ version }) => version));
      // Before the publication is complete, prune() keeps the current version, and does not count the new one.
      if (outcomes.isFirst && current) kept.add(current.version);
      const older = versions.slice(0, Math.max(0, versions.length + (outcomes.isFirst ? 0 : 1) - keep));
      const deletable = older.filter((version) => !kept.has(version)).map(({ name }) => name);
      const wrong = names.filter((name) => !deletable.includes(name));
      sameList(wrong, [], `prune(${keep}) during a publication to delete only versions that it may delete`);
      this.#state.deleted(versions.filter((version) => names.includes(version.name)));
    } else failedWith(outcomes.changed, ['conflict'], 'prune()');
    if (isFirst) this.#mustSucceed(both, outcomes, before);
  }

  async #fail(both: Both, target: string): Promise<void> {
    const before = both.actor.opened.changes.length;
    const failing = failingDataset(
      target,
      both.manifest.created,
      'its last batch cannot be read',
      'readings',
      () => {},
    );
    const publish = () => both.other.opened.adapter.publish!(failing);
    const outcomes = await this.#during(both, `publishes "${target}", which cannot be read`, publish);
    failedWith(outcomes.changed, ['invalid_dataset', 'conflict'], 'publish()');
    this.#mustSucceed(both, outcomes, before);
  }

  async #activate(both: Both, target: string): Promise<void> {
    const state = this.#state;
    const version = state.find(target);
    const before = both.actor.opened.changes.length;
    const activate = () => both.other.opened.adapter.versions!.activate(target);
    const outcomes = await this.#during(both, `activates "${target}"`, activate);
    const { published, changed, isFirst } = outcomes;
    if (!version) {
      const hasWaited = target === both.name && !isFirst && isDone(changed);
      if (!hasWaited) failedWith(changed, ['unknown_version', 'conflict'], 'activate()');
      return this.#mustSucceed(both, outcomes, before);
    }
    this.#oneSucceeds(outcomes);
    const wasCurrent = version === state.current?.version;
    if (!isDone(published) && wasCurrent) return;
    const { name, since } = await this.#final();
    const activated = (at: number): void => {
      this.#isLater(at);
      state.activated(version, at);
    };
    if (!isDone(published)) return activated(since);
    if (name === both.name) {
      if (isDone(changed) && !wasCurrent) activated(await this.#timeBefore(since, target));
      return this.#published(both, since);
    }
    sameValue([name, isDone(changed)], [target, true], 'the current version after activate()');
    this.#published(both, await this.#timeInList(both.name));
    return activated(since);
  }

  async #publish(both: Both, target: string): Promise<void> {
    const state = this.#state;
    const isTaken = state.find(target) !== undefined;
    const before = both.actor.opened.changes.length;
    const created = shown(Date.parse(both.manifest.created) + 500);
    const second: Both = { ...both, name: target, content: newRows(1), manifest: manifestOf(target, created) };
    const publish = () => both.other.opened.adapter.publish!(datasetWith(second.manifest, second.content));
    const outcomes = await this.#during(both, `publishes "${target}"`, publish);
    if (isTaken) {
      failedWith(outcomes.changed, ['conflict'], 'publish() under an existing name');
      return this.#mustSucceed(both, outcomes, before);
    }
    this.#oneSucceeds(outcomes);
    const done = [both, second].filter((_, i) => isDone(i === 0 ? outcomes.published : outcomes.changed));
    if (target === both.name) sameValue(done.length, 1, `the number of publications of "${target}" that succeed`);
    const { name, since } = await this.#final();
    // The model records the current version last, because it was published last.
    const inOrder = done.toSorted((a, b) => Number(a.name === name) - Number(b.name === name));
    const [first, last = first] = inOrder;
    if (state.limits.versions) {
      for (const each of inOrder) this.#published(each, await this.#timeInList(each.name));
    } else if (first === last) this.#published(first!, since);
    else {
      // Without versions, the time of the first publication is unknown. A store without locks may not respect it.
      this.#isLater(since);
      state.published(first!.manifest, first!.content, state.current?.since ?? since);
      state.published(last!.manifest, last!.content, since);
    }
    sameValue(state.current!.version.name, name, 'the current version after two publications');
  }

  #oneSucceeds({ published, changed }: Outcomes): void {
    for (const outcome of [published, changed]) if (!isDone(outcome)) failedWith(outcome, ['conflict'], 'a change');
    assert(isDone(published) || isDone(changed), 'expected one of two changes at the same time to succeed');
  }

  #final(): Promise<{ name: string; since: number }> {
    return agreed(this.#actors, this.#state.limits.followMs, this.#state.current?.since);
  }

  #published({ name, manifest, content }: Both, at: number): void {
    this.#isLater(at);
    const time = Date.parse(manifest.created);
    const isNewer = !this.#state.current || time > this.#state.current.since;
    if (isNewer) sameValue(shown(at), shown(time), `the publication time of "${name}" to be its time of creation`);
    this.#state.published(manifest, content, at);
  }

  #isLater(at: number): void {
    const { current } = this.#state;
    assert(!current || at > current.since, `expected a time after ${shown(current?.since ?? 0)}, found ${shown(at)}`);
  }

  async #timeInList(name: string): Promise<number> {
    const listed = await this.#actors[0]!.opened.adapter.versions!.list();
    const found = listed.find(({ version }) => version === name);
    assert(found, `expected list() to include "${name}"`);
    return found.publishedAt.getTime();
  }

  /** Returns when `name` became current. Another version replaced `name` at `time`. */
  async #timeBefore(time: number, name: string): Promise<number> {
    const snapshot = await this.#actors[0]!.opened.adapter.versions!.asOf(new Date(time - 1));
    snapshot?.release();
    sameValue(snapshot?.version, name, `asOf(${shown(time - 1)}), after activate() and publish()`);
    return snapshot!.publishedAt.getTime();
  }
}
