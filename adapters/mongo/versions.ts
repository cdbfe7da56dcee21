import { type Clock, publishing, type Snapshot, StorageError, type Versions } from 'metro-forecast-api/adapter';
import { Catalog, type Publication, type StoredPublication } from './catalog.js';
import type { Access, Connection } from './connection.js';
import type { CurrentVersion } from './current-version.js';
import { audited } from './data-audit.js';
import { lockedIds } from './replica-locks.js';
import { sweep } from './sweep.js';
import type { LockedVersion, LockedVersions } from './version-locks.js';

const { momentAfter, unknownVersion } = publishing;

export interface VersionsContext extends Access {
  readonly clock: Clock;
  readonly locks: LockedVersions;
  readonly current: CurrentVersion;
  snapshotOf(locked: LockedVersion, publication: Publication): Snapshot;
}

const newestFirst = (versions: readonly StoredPublication[]): StoredPublication[] => [...versions].reverse();

/** The catalog must be read before the locks (see `version-locks.ts`). */
const firstUnused = async (connection: Connection, catalog: Catalog, keep: number) => {
  const { versions, current } = await catalog.read();
  const locked = await lockedIds(connection);
  return newestFirst(versions)
    .slice(keep)
    .find(({ id }) => id !== current?.id && !locked.has(id));
};

export class MongoVersions implements Versions {
  readonly #context: VersionsContext;

  constructor(context: VersionsContext) {
    this.#context = context;
  }

  list() {
    return this.#context.read(async (connection) => {
      const { versions, current } = await new Catalog(connection).read();
      const locked = await lockedIds(connection);
      return newestFirst(versions).map(({ id, version, publishedAt }) => ({
        version,
        publishedAt,
        current: id === current?.id,
        held: locked.has(id),
      }));
    });
  }

  activate(version: string): Promise<void> {
    return this.#context.withOwnConnection(async (connection) => {
      const catalog = new Catalog(connection);
      const { versions, current, moves } = await catalog.read();
      const target = versions.find((one) => one.version === version);
      if (!target) {
        throw unknownVersion(
          version,
          newestFirst(versions).map((one) => one.version),
        );
      }
      if (target.id === current?.id) return;
      const publishedAt = momentAfter(moves.at(-1)?.publishedAt ?? new Date(0), this.#context.clock);
      const entry = { action: 'activate', version, replaces: current?.version ?? null } as const;
      const isActive = await audited(connection, this.#context.clock, entry, () =>
        catalog.activate({ id: target.id, version, publishedAt }, current),
      );
      if (isActive) return;
      throw new StorageError(
        'conflict',
        'Another version was published, activated or pruned meanwhile. List the versions and try again.',
      );
    });
  }

  prune(keep: number): Promise<readonly string[]> {
    return this.#context.withOwnConnection(async (connection) => {
      const catalog = new Catalog(connection);
      // Unused locks are released now instead of at the next poll.
      await this.#context.locks.renew();
      const deleted: string[] = [];
      for (;;) {
        const unused = await firstUnused(connection, catalog, keep);
        if (!unused) break;
        const { version } = unused;
        const entry = { action: 'prune', version } as const;
        if (await audited(connection, this.#context.clock, entry, () => catalog.remove(unused))) deleted.push(version);
      }
      await sweep(connection, catalog);
      return deleted;
    });
  }

  asOf(time: Date): Promise<Snapshot | undefined> {
    return this.#context.read(async () => {
      // `moves` does not include versions that this replica does not serve yet.
      const publication = this.#context.current.moves.findLast(({ publishedAt }) => publishedAt <= time);
      if (!publication) return undefined;
      // The result is undefined if the version that was current at that time has been deleted.
      const locked = await this.#context.locks.lock(publication.id);
      return locked && this.#context.snapshotOf(locked, publication);
    });
  }
}
