/** Stores the locks of one replica. `version-locks.ts` explains how locks protect versions. */
import { randomUUID } from 'node:crypto';
import type { Clock } from 'metro-forecast-api/adapter';
import { fromNow } from './catalog.js';
import type { Connection } from './connection.js';

interface ReplicaDocument {
  readonly _id: string;
  /** The ids of the locked versions. */
  readonly holds: readonly number[];
  readonly expires: Date;
  /** The number of the last write. A write that arrives late must not replace a newer one. */
  readonly sequence: number;
}

const COLLECTION = 'replicas';

export const lockedIds = async (connection: Connection): Promise<ReadonlySet<number>> => {
  const live = { $expr: { $gt: ['$expires', '$$NOW'] } };
  const replicas = await connection.run('read the locks', (db) =>
    db.collection<ReplicaDocument>(COLLECTION).find(live).toArray(),
  );
  return new Set(replicas.flatMap(({ holds }) => holds));
};

/** The TTL index makes the server delete the documents of crashed replicas. */
export const expireReplicas = (connection: Connection): Promise<unknown> =>
  connection.run('create an index', (db) =>
    db.collection(COLLECTION).createIndex({ expires: 1 }, { expireAfterSeconds: 0 }),
  );

export class ReplicaLocks {
  readonly #connection: Connection;
  readonly #clock: Clock;
  readonly #holdMs: number;
  readonly #id = randomUUID();
  #sequence = 0;
  /**
   * The ids in the last write. Undefined if that write failed, because MongoDB may have stored it or may still store
   * it.
   */
  #written: readonly number[] | undefined;
  #renewedAt = Number.NEGATIVE_INFINITY;

  constructor(connection: Connection, clock: Clock, holdMs: number) {
    this.#connection = connection;
    this.#clock = clock;
    this.#holdMs = holdMs;
  }

  get areValid(): boolean {
    return this.#clock.monotonic() - this.#renewedAt < this.#holdMs;
  }

  /**
   * Writes the locks of this replica if they have changed or a quarter of their lifetime has passed.
   * @param onExpired called if the locks had expired, so that another replica may have deleted the versions
   */
  async renew(ids: readonly number[], onExpired: () => Promise<void>): Promise<void> {
    const previous = this.#renewedAt;
    const due = this.#clock.monotonic() - previous > this.#holdMs / 4;
    const written = this.#written;
    const unchanged = written?.length === ids.length && ids.every((id) => written.includes(id));
    if (!due && unchanged) return;
    const startedAt = this.#clock.monotonic();
    this.#written = undefined;
    const sequence = ++this.#sequence;
    const next = { _id: this.#id, holds: ids, expires: fromNow(this.#holdMs), sequence };
    const isNewer = { $gt: [sequence, { $ifNull: ['$sequence', 0] }] };
    const change = [{ $replaceWith: { $cond: [isNewer, next, '$$ROOT'] } }];
    await this.#connection.run('write the locks', (db) =>
      db.collection<ReplicaDocument>(COLLECTION).updateOne({ _id: this.#id }, change, { upsert: true }),
    );
    if (this.#clock.monotonic() - previous >= this.#holdMs) await onExpired();
    this.#written = [...ids];
    this.#renewedAt = startedAt;
  }

  async release(): Promise<void> {
    if (this.#renewedAt === Number.NEGATIVE_INFINITY) return;
    this.#renewedAt = Number.NEGATIVE_INFINITY;
    await this.#connection
      .run('release the locks', (db) => db.collection<ReplicaDocument>(COLLECTION).deleteOne({ _id: this.#id }))
      .catch(() => undefined);
  }
}
