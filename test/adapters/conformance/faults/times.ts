import { writeFileSync } from 'node:fs';
import type { Manifest } from '../../../../core/contracts/dataset.js';
import type { AdapterContext, Snapshot } from '../../../../core/contracts/storage.js';
import { FolderAdapter, type Stored } from '../folder-adapter.js';
import { type BrokenAdapter, hasCode } from './breaking.js';

type Asked = Parameters<FolderAdapter['moveAt']>[0];

const withSystemClock = (context: AdapterContext): AdapterContext => ({
  ...context,
  clock: { now: Date.now, monotonic: () => performance.now() },
});

const at = (snapshot: Snapshot | undefined, publishedAt: Date | undefined) =>
  snapshot && publishedAt ? { ...snapshot, publishedAt } : snapshot;

export const momentBugs: readonly BrokenAdapter[] = [
  {
    that: 'does not use the clock of its context',
    fails: ["versions publish() of an older dataset gets its time from the context's clock"],
    folder: class extends FolderAdapter {
      constructor(context: AdapterContext) {
        super(withSystemClock(context));
      }
    },
  },
  {
    that: 'compares times as text',
    fails: ['versions have times before 1970 and after 2038'],
    folder: class extends FolderAdapter {
      override moveAt(time: Asked) {
        return this.catalog.moves.findLast(({ since }) => since <= time.toISOString());
      }
    },
  },
  {
    that: 'compares the time of a dataset with the current version as text',
    fails: ['versions publish() compares `created` with the current version as a time, not as text'],
    folder: class extends FolderAdapter {
      override timeOf(manifest: Manifest) {
        const last = this.lastMove()?.toISOString() ?? '';
        return manifest.created > last ? new Date(manifest.created).toISOString() : super.timeOf(manifest);
      }
    },
  },
  {
    that: 'has no versions and does not use the clock of its context',
    capabilities: { publish: true, versions: false, durable: false },
    context: withSystemClock,
    fails: [
      'publish(dataset) uses the current time as publication time if the previous version is not older than the dataset',
    ],
  },
  {
    that: 'does not use the clock of its context for activations',
    fails: ["versions activate() gets its time from the context's clock, and list() does not change"],
    folder: class extends FolderAdapter {
      override activationTime() {
        return new Date(Math.max(Date.now(), this.lastMove()!.getTime() + 1)).toISOString();
      }
    },
  },
  {
    that: 'compares the time of a dataset with the latest publication rather than activation',
    fails: [
      "versions publish() after an activation gets its time from the context's clock, unless the dataset is newer",
    ],
    folder: class extends FolderAdapter {
      override lastMove() {
        const { versions } = this.catalog;
        const times = versions.map(({ publishedAt }) => Date.parse(publishedAt));
        return versions.length > 0 ? new Date(Math.max(...times)) : undefined;
      }
      override activationTime() {
        return new Date(Math.max(this.context.clock.now(), super.lastMove()!.getTime() + 1)).toISOString();
      }
    },
  },
  {
    that: 'lists at most 100 versions',
    fails: ['versions list() returns any number of versions, and prune() deletes them'],
    folder: class extends FolderAdapter {
      override async list() {
        return (await super.list()).slice(0, 100);
      }
    },
  },
  {
    that: 'deletes at most 50 versions at a time',
    fails: ['versions list() returns any number of versions, and prune() deletes them'],
    folder: class extends FolderAdapter {
      override toPrune(keep: number) {
        return super.toPrune(keep).slice(0, 50);
      }
    },
  },
  {
    that: 'keeps the publication time of a version that is activated',
    fails: ["versions activate() gets its time from the context's clock, and list() does not change"],
    folder: class extends FolderAdapter {
      override snapshot() {
        const snapshot = super.snapshot();
        const stored = this.catalog.versions.find(({ version }) => version === snapshot.version);
        return { ...snapshot, publishedAt: new Date(stored!.publishedAt) };
      }
    },
  },
  {
    that: 'lists the time of activation as publication time',
    fails: ["versions activate() gets its time from the context's clock, and list() does not change"],
    folder: class extends FolderAdapter {
      override async list() {
        return (await super.list()).map((each) => {
          const move = this.catalog.moves.findLast(({ version }) => version === each.version);
          return { ...each, publishedAt: new Date(move!.since) };
        });
      }
    },
  },
  {
    that: 'activates a version at its publication time',
    fails: ['versions asOf() returns what was current before activate()'],
    folder: class extends FolderAdapter {
      override async activate(version: string) {
        const stored = this.catalog.versions.find((each) => each.version === version);
        this.activationTime = () => stored!.publishedAt;
        await super.activate(version);
      }
    },
  },
  {
    that: 'forgets the first of two activations in asOf()',
    fails: ['versions asOf() returns what was current between several activations'],
    folder: class extends FolderAdapter {
      override moveAt(time: Asked) {
        const { moves } = this.catalog;
        const activations = moves.filter(({ id }, i) => moves.findIndex((move) => move.id === id) < i);
        const dropped = new Set(activations.slice(0, -1));
        return moves.filter((move) => !dropped.has(move)).findLast(({ since }) => new Date(since) <= time);
      }
    },
  },
  {
    that: 'returns the last publication before a time, not the active version',
    fails: [
      'during a publication activate() and the publication take effect one after the other, or one is rejected with conflict',
    ],
    folder: class extends FolderAdapter {
      override moveAt(time: Asked) {
        const stored = this.catalog.versions.findLast(({ publishedAt }) => new Date(publishedAt) <= time);
        return stored && { id: stored.id, version: stored.version, since: stored.publishedAt };
      }
    },
  },
  {
    that: 'returns the current publication time from asOf()',
    fails: ['versions asOf() returns the whole version: rows, manifest and publication time'],
    folder: class extends FolderAdapter {
      override async asOf(time: Date) {
        return at(await super.asOf(time), this.lastMove());
      }
    },
  },
  {
    that: 'returns the requested time as the publication time from asOf()',
    fails: ['versions asOf() returns what was current between several activations'],
    folder: class extends FolderAdapter {
      override async asOf(time: Date) {
        return at(await super.asOf(time), time);
      }
    },
  },
  {
    that: 'stores times before 1970 as 1970',
    fails: ['versions have times before 1970 and after 2038'],
    folder: class extends FolderAdapter {
      override timeOf(manifest: Manifest) {
        return new Date(Math.max(0, Date.parse(super.timeOf(manifest)))).toISOString();
      }
    },
  },
  {
    that: 'stores times before 1970 as positive numbers',
    fails: ['versions have times before 1970 and after 2038'],
    folder: class extends FolderAdapter {
      override timeOf(manifest: Manifest) {
        return new Date(Math.abs(Date.parse(super.timeOf(manifest)))).toISOString();
      }
    },
  },
  {
    that: 'finds no version as of a time before 1970',
    fails: ['versions have times before 1970 and after 2038'],
    folder: class extends FolderAdapter {
      override async asOf(time: Date) {
        return time.getTime() < 0 ? undefined : super.asOf(time);
      }
    },
  },
  {
    that: 'reads times of creation in the time zone of the process',
    fails: ['snapshot() has the same publication time in every time zone'],
    folder: class extends FolderAdapter {
      override timeOf(manifest: Manifest) {
        return super.timeOf({ ...manifest, created: manifest.created.replace('Z', '') });
      }
    },
  },
  {
    that: 'stores times as 32-bit seconds',
    fails: ['versions have times before 1970 and after 2038'],
    folder: class extends FolderAdapter {
      override timeOf(manifest: Manifest) {
        const ms = Date.parse(super.timeOf(manifest));
        return new Date(Math.floor((ms / 1000) | 0) * 1000 + (((ms % 1000) + 1000) % 1000)).toISOString();
      }
    },
  },
  {
    that: 'publishes an older dataset at the time of its creation',
    fails: [
      'publish(dataset) uses the current time as publication time if the previous version is not older than the dataset',
    ],
    folder: class extends FolderAdapter {
      override timeOf(manifest: Manifest) {
        return new Date(manifest.created).toISOString();
      }
    },
  },
  {
    that: 'publishes every dataset at the current time',
    fails: ['snapshot() uses the creation time of its dataset as its publication time'],
    folder: class extends FolderAdapter {
      override timeOf() {
        return new Date(this.context.clock.now()).toISOString();
      }
    },
  },
  {
    that: 'gives two activations within a millisecond the same time',
    fails: ['versions times increase, even if the clock goes back or does not move'],
    folder: class extends FolderAdapter {
      override activationTime() {
        return new Date(this.context.clock.now()).toISOString();
      }
    },
  },
  {
    that: 'goes back in time when the clock does',
    fails: ['versions times increase, even if the clock goes back or does not move'],
    folder: class extends FolderAdapter {
      override timeOf(manifest: Manifest) {
        const last = this.lastMove();
        if (last && Date.parse(manifest.created) <= last.getTime())
          return new Date(this.context.clock.now()).toISOString();
        return super.timeOf(manifest);
      }
      override moveAt(time: Asked) {
        return this.catalog.moves.find(
          ({ since }, i, all) => new Date(since) <= time && !(all[i + 1] && new Date(all[i + 1]!.since) <= time),
        );
      }
    },
  },
  {
    that: 'returns a version only for times after its publication',
    fails: ['versions asOf() returns the version that was current at a time, from its publication on'],
    folder: class extends FolderAdapter {
      override moveAt(time: Asked) {
        return this.catalog.moves.findLast(({ since }) => new Date(since) < time);
      }
    },
  },
  {
    that: 'returns an older version if the version for a time was deleted',
    fails: ['versions asOf() returns undefined, not an older version, if the version of that time was pruned'],
    folder: class extends FolderAdapter {
      override moveAt(time: Asked) {
        const stored = new Set(this.catalog.versions.map(({ id }) => id));
        return this.catalog.moves.findLast(({ id, since }) => stored.has(id) && new Date(since) <= time);
      }
    },
  },
  {
    that: 'returns undefined from asOf() for the current version after an activation',
    fails: ['versions asOf() returns what was current before activate()'],
    folder: class extends FolderAdapter {
      override moveAt(time: Asked) {
        const found = super.moveAt(time);
        const isLast = found === this.catalog.moves.at(-1);
        return isLast && this.catalog.versions.at(-1)?.id !== found?.id ? undefined : found;
      }
    },
  },
];

/** Two version names count as equal if `change` returns the same name for both. */
const named = (change: (version: string) => string) =>
  class extends FolderAdapter {
    override isTaken(version: string) {
      return this.catalog.versions.some((each) => change(each.version) === change(version));
    }
  };

const SIMILAR = 'versions with similar names stay whole when another is deleted, or its publication fails';

/** Deletes the rows of all versions whose names start with the name of the deleted version. */
class PrefixAdapter extends FolderAdapter {
  removeRows(prefix: string) {
    const found = this.catalog.versions.filter(({ version }) => version.startsWith(prefix));
    for (const { id } of found) writeFileSync(this.path(`${id}.json`), '{}');
  }
}

export const nameBugs: readonly BrokenAdapter[] = [
  {
    that: 'treats version names that start with the same 30 characters as equal',
    fails: ['versions with similar names are different versions'],
    folder: named((name) => name.slice(0, 30)),
  },
  {
    that: 'prunes the rows of all versions whose names start with the name of a pruned version',
    fails: [SIMILAR],
    folder: class extends PrefixAdapter {
      override remove(pruned: readonly Stored[]) {
        super.remove(pruned);
        for (const { version } of pruned) this.removeRows(version);
      }
    },
  },
  {
    that: 'removes the rows of all versions whose names start with the name of a failed publication',
    fails: [SIMILAR],
    folder: class extends PrefixAdapter {
      override async publish(...[dataset, options]: Parameters<FolderAdapter['publish']>) {
        await super.publish(dataset, options).catch((error) => {
          if (!hasCode(error, 'conflict')) this.removeRows(dataset.manifest.version);
          throw error;
        });
      }
    },
  },
  {
    that: 'treats version names that differ in case as equal',
    fails: ['versions with similar names are different versions'],
    folder: named((name) => name.toLowerCase()),
  },
  {
    that: 'treats version names with the same numeric value as equal',
    fails: ['versions with similar names are different versions'],
    folder: named((name) => String(Number(name) || name)),
  },
  {
    that: 'ignores dots at the end of version names',
    fails: ['versions with similar names are different versions'],
    folder: named((name) => name.replace(/\.+$/, '')),
  },
  {
    that: 'cannot activate a version whose name was deleted before',
    fails: ['versions may reuse the name of a deleted version for different rows'],
    folder: class extends FolderAdapter {
      override activate(version: string) {
        const { versions, moves } = this.catalog;
        const first = moves.find((move) => move.version === version);
        if (first && !versions.some(({ id }) => id === first.id)) return super.activate('');
        return super.activate(version);
      }
    },
  },
  {
    that: 'truncates version names to 30 characters',
    fails: ['snapshot() can have the name of a number or of a member of an object, and 100 characters'],
    folder: class extends FolderAdapter {
      override commit(...[manifest, content]: Parameters<FolderAdapter['commit']>) {
        super.commit({ ...manifest, version: manifest.version.slice(0, 30) }, content);
      }
    },
  },
  {
    that: 'truncates version names in list()',
    fails: ['versions with similar names are different versions'],
    folder: class extends FolderAdapter {
      override async list() {
        return (await super.list()).map((each) => ({ ...each, version: each.version.slice(0, 40) }));
      }
    },
  },
  {
    that: 'activates the first version whose name starts with the given one',
    fails: ['versions with similar names are different versions'],
    folder: class extends FolderAdapter {
      override async activate(version: string) {
        const found = this.catalog.versions.find((each) => each.version.startsWith(version));
        await super.activate(found?.version ?? version);
      }
    },
  },
  {
    that: 'replaces dots in version names',
    fails: ['versions with similar names are different versions'],
    folder: named((name) => name.replaceAll('.', '_')),
  },
  {
    that: 'returns the ids of deleted versions from prune()',
    fails: ['versions prune() deletes all but the newest, and returns what it deleted'],
    folder: class extends FolderAdapter {
      override async prune(keep: number) {
        const pruned = this.toPrune(keep).map(({ id }) => id);
        await super.prune(keep);
        return pruned;
      }
    },
  },
  {
    that: 'returns only the last version that prune() deleted',
    fails: ['versions prune() deletes all but the newest, and returns what it deleted'],
    folder: class extends FolderAdapter {
      override async prune(keep: number) {
        return (await super.prune(keep)).slice(-1);
      }
    },
  },
  {
    that: 'counts held versions among the newest that prune() keeps',
    fails: ['versions prune() keeps held versions in addition to the newest'],
    folder: class extends FolderAdapter {
      override toPrune(keep: number): readonly Stored[] {
        const held = this.catalog.versions.filter(({ id }) => this.isHeld(id)).length;
        return super.toPrune(Math.max(0, keep - held));
      }
    },
  },
  {
    that: 'deletes the current version if it is older than the newest',
    fails: ['versions prune() keeps the current version, however old'],
    folder: class extends FolderAdapter {
      override toPrune(keep: number) {
        const { versions } = this.catalog;
        return versions
          .slice(0, Math.max(0, versions.length - keep))
          .filter(({ id }) => !this.isHeld(id) && id !== versions.at(-1)?.id);
      }
    },
  },
  {
    that: 'treats prune(0) as prune(1)',
    fails: ['versions prune(0) also deletes the newest version if it is not current'],
    folder: class extends FolderAdapter {
      override toPrune(keep: number) {
        return super.toPrune(keep || 1);
      }
    },
  },
  {
    that: 'shows every version as held',
    fails: ['versions that are not current are held only while a snapshot of them is in use'],
    folder: class extends FolderAdapter {
      override async list() {
        return (await super.list()).map((each) => ({ ...each, held: true }));
      }
    },
  },
  {
    that: 'shows only the current version as held',
    fails: ['versions list() shows which versions are held'],
    folder: class extends FolderAdapter {
      override async list() {
        return (await super.list()).map((each) => ({ ...each, held: each.held && each.current }));
      }
    },
  },
  {
    that: 'marks the newest version as current in list()',
    fails: ['versions activate() makes an earlier version current'],
    folder: class extends FolderAdapter {
      override async list() {
        return (await super.list()).map((each, i) => ({ ...each, current: i === 0 }));
      }
    },
  },
  {
    that: 'releases the lock of asOf() when snapshot() is released',
    fails: ['versions release() releases one lock: further calls do nothing, and other locks stay'],
    folder: class extends FolderAdapter {
      override hold(move: Parameters<FolderAdapter['hold']>[0]) {
        const snapshot = super.hold(move);
        const { id } = move;
        return snapshot && { ...snapshot, release: () => void this.holds.set(id, 0) };
      }
    },
  },
  {
    that: 'keeps the locks of a find() that was left early',
    fails: ['versions a find() that was left early, aborted or not ended holds nothing after its snapshot is released'],
    folder: class extends FolderAdapter {
      override async *findRows(...given: Parameters<FolderAdapter['findRows']>) {
        const current = this.catalog.moves.at(-1)!.id;
        this.holds.set(current, (this.holds.get(current) ?? 0) + 1);
        yield* super.findRows(...given);
        this.holds.set(current, this.holds.get(current)! - 1);
      }
    },
  },
  {
    that: 'deletes a version while another version with its name is held',
    fails: ['versions list() shows which versions are held'],
    folder: class extends FolderAdapter {
      override isHeld(id: string) {
        return super.isHeld(id) && this.catalog.moves.at(-1)?.id === id;
      }
      override remove(pruned: readonly Stored[]) {
        for (const { id } of pruned) this.contents.delete(id);
        super.remove(pruned);
      }
    },
  },
];
