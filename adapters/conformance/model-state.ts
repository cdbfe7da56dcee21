/** What a store should contain after a sequence of steps, according to the contract. */
import type { Manifest, Snapshot } from 'metro-forecast-api/adapter';
import type { Rows } from './fixture.js';
import type { Instance, Opened } from './instance.js';
import type { Entry } from './model-end.js';
import type { OtherProcess } from './start-process.js';
import { newRows, withDetails } from './steps.js';

export interface Version {
  readonly name: string;
  readonly manifest: Manifest;
  readonly publishedAt: number;
  readonly content: Rows;
}

/** A version that became current. Times are in milliseconds since 1970. */
export interface Move {
  readonly version: Version;
  readonly since: number;
}

export interface Held extends Move {
  readonly snapshot: Snapshot;
  readonly by: string;
}

/** An open adapter of the sequence. */
export interface Actor {
  readonly name: string;
  opened: Opened;
  /** Number of `changed()` calls that the test has already compared with the model. */
  calls: number;
  /** Number of publications and activations that the test has already compared with the model. */
  seen: number;
}

export interface Limits {
  /** Whether the store keeps earlier versions. Without the capability `versions`, only the current one is known. */
  readonly versions: boolean;
  readonly reopens: boolean;
  readonly followMs: number;
  readonly startProcess?: () => OtherProcess;
}

const SECOND_MS = 1000;

/** The versions, their times and the audit. The methods apply a change. */
export class Changes {
  readonly moves: Move[];
  readonly entries: Entry[];
  versions: Version[];

  /** @param from the changes to copy. Default: none */
  constructor(from?: Changes) {
    this.moves = [...(from?.moves ?? [])];
    this.entries = [...(from?.entries ?? [])];
    this.versions = [...(from?.versions ?? [])];
  }

  get current(): Move | undefined {
    return this.moves.at(-1);
  }

  find(name: string): Version | undefined {
    return this.versions.find((version) => version.name === name);
  }

  published(manifest: Manifest, content: Rows, publishedAt: number): void {
    const { version: name } = manifest;
    const version = { name, manifest, content, publishedAt };
    this.entries.push({ action: 'publish', version: name, replaces: this.current?.version.name ?? null });
    this.versions.push(version);
    this.moves.push({ version, since: publishedAt });
  }

  activated(version: Version, since: number): void {
    this.entries.push({ action: 'activate', version: version.name, replaces: this.current!.version.name });
    this.moves.push({ version, since });
  }

  deleted(versions: readonly Version[]): void {
    this.versions = this.versions.filter((version) => !versions.includes(version));
    for (const name of versions.map((version) => version.name).sort()) {
      this.entries.push({ action: 'prune', version: name });
    }
  }
}

export class State extends Changes {
  readonly log: string[] = [];
  held: Held[] = [];
  /** Versions that a killed process may have locked. The locks might outlast the sequence. */
  readonly leftLocked = new Set<Version>();
  /**
   * Settles when all reads that started during a change have ended. These reads hold versions that are not in `held`.
   */
  reading: Promise<unknown> = Promise.resolve();

  constructor(
    readonly instance: Instance,
    readonly limits: Limits,
    readonly start: string,
    readonly reads: number,
  ) {
    super();
  }

  /** Takes the versions, times and audit from a copy to which changes were applied. */
  adopt({ moves, entries, versions }: Changes): void {
    this.moves.splice(0, Infinity, ...moves);
    this.entries.splice(0, Infinity, ...entries);
    this.versions = versions;
  }

  override published(manifest: Manifest, content: Rows, publishedAt: number): void {
    super.published(manifest, content, publishedAt);
    if (!this.limits.versions) this.versions = this.versions.slice(-1);
  }

  /** Returns a name that no earlier version of the sequence has. */
  unused(name: string): string {
    const isUsed = this.moves.some(({ version }) => version.name === name);
    return isUsed ? `${name.slice(-90)}-${this.moves.length}` : name;
  }

  isStored(version: Version): boolean {
    return this.versions.includes(version);
  }

  /** Returns the change that made a version current at this time. Returns undefined if that version was deleted. */
  at(time: number): Move | undefined {
    const move = this.moves.findLast(({ since }) => since <= time);
    return move && this.isStored(move.version) ? move : undefined;
  }

  /**
   * Returns a creation time for the next version. It can be earlier than the last change of the current version, equal
   * to it, or later.
   */
  created(how: number): string {
    const { current } = this;
    if (!current) return this.start;
    const later = [SECOND_MS, SECOND_MS, 1, 0, -1, -400 * SECOND_MS][how % 6]!;
    const created = new Date(current.since + later).toISOString();
    return how % 2 ? created : created.replace('.000Z', 'Z');
  }

  /** Returns new rows, the rows of an earlier version, or the rows of an earlier version with a small change. */
  content(how: number): Rows {
    const { moves } = this;
    const earlier = moves[moves.length - 1 - (how % Math.max(1, moves.length))]?.version.content;
    if (!earlier || how % 4 < 2) return newRows(how);
    return how % 4 === 2 ? withDetails(earlier, how) : earlier;
  }
}
