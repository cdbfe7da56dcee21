/**
 * Which versions are being read, and by whom: a version is never deleted under its reader.
 *
 * Each replica has a document in `replicas` with the ids that it holds and a time at which that ends by itself,
 * renewed long before. A version goes in three steps, and a replica takes one in three:
 *
 *     pruner:   1. take it out of the catalog   2. read the replicas' holds   3. drop it unless somebody holds it
 *     replica:  1. write the hold               2. read the catalog           3. read it if it is still in there
 *
 * Both write (and have a majority confirm it) before they read, so whichever comes second sees what the first
 * wrote: either the replica finds the version gone and leaves it, or the pruner finds the hold and leaves the
 * version to a later sweep. Ids never come back, so a version that is out of the catalog stays out.
 *
 * A replica that cannot renew (it hangs, or MongoDB is away from it) loses its holds when `holdMs` have passed.
 * It counts from before it sent the last renewal, the server from when it got it, so the replica knows first:
 * from then on it answers no read, since a dropped collection looks like an empty one. Each batch is checked
 * after it has arrived; one that has was read in time. With the next renewal the replica asks the catalog which
 * of its versions are left, and goes on with those.
 */
import { randomUUID } from 'node:crypto';
import type { Clock } from '../../core/contracts/runtime.js';
import { fromNow } from './catalog.js';
import type { Connection } from './connection.js';

interface ReplicaDocument {
  readonly _id: string;
  readonly holds: readonly number[];
  readonly expires: Date;
}

const COLLECTION = 'replicas';

/** The ids that some live replica holds. */
export const heldIds = async (connection: Connection): Promise<ReadonlySet<number>> => {
  const live = { $expr: { $gt: ['$expires', '$$NOW'] } };
  const replicas = await connection.run('read the holds', (db) =>
    db.collection<ReplicaDocument>(COLLECTION).find(live).toArray(),
  );
  return new Set(replicas.flatMap(({ holds }) => holds));
};

/** Lets the server forget replicas that have ended without saying so. */
export const expireReplicas = (connection: Connection): Promise<unknown> =>
  connection.run('make an index', (db) =>
    db.collection(COLLECTION).createIndex({ expires: 1 }, { expireAfterSeconds: 0 }),
  );

/** This replica's holds. */
export class Holds {
  readonly #connection: Connection;
  readonly #clock: Clock;
  readonly #holdMs: number;
  readonly #id = randomUUID();
  #written: readonly number[] = [];
  #writtenAt = Number.NEGATIVE_INFINITY;

  constructor(connection: Connection, clock: Clock, holdMs: number) {
    this.#connection = connection;
    this.#clock = clock;
    this.#holdMs = holdMs;
  }

  /** Whether what was written last still holds. */
  get inForce(): boolean {
    return this.#clock.monotonic() - this.#writtenAt < this.#holdMs;
  }

  /**
   * Writes the holds if they have changed or are due for renewal.
   * @param lapsed is awaited, before the holds count as in force again, where they were not all the time until
   *   now: it must find out what has gone
   */
  async keep(ids: readonly number[], lapsed: () => Promise<void>): Promise<void> {
    const previous = this.#writtenAt;
    const due = this.#clock.monotonic() - previous > this.#holdMs / 4;
    const changed = ids.length !== this.#written.length || ids.some((id) => !this.#written.includes(id));
    if (!due && !changed) return;
    const startedAt = this.#clock.monotonic();
    await this.#connection.run('write the holds', (db) =>
      db
        .collection<ReplicaDocument>(COLLECTION)
        .updateOne({ _id: this.#id }, [{ $set: { holds: ids, expires: fromNow(this.#holdMs) } }], { upsert: true }),
    );
    if (this.#clock.monotonic() - previous >= this.#holdMs) await lapsed();
    this.#written = [...ids];
    this.#writtenAt = startedAt;
  }

  /** Gives everything up. Where that does not arrive, it ends by itself. */
  async end(): Promise<void> {
    if (this.#writtenAt === Number.NEGATIVE_INFINITY) return;
    this.#writtenAt = Number.NEGATIVE_INFINITY;
    await this.#connection
      .run('end the holds', (db) => db.collection<ReplicaDocument>(COLLECTION).deleteOne({ _id: this.#id }))
      .catch(() => undefined);
  }
}
