/**
 * Stores an audit log in a MongoDB collection. Each entry is a numbered document. A separate head document contains the
 * newest entry and its hash. To append an entry, a process updates the head, but only if the hash is still the one that
 * the process has read. If a process stops before it has inserted the entry, the next process copies the entry from the
 * head. Transactions are not used, because a standalone server does not support them.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { type AuditEntry, type AuditVerification, audit } from 'metro-forecast-api/adapter';
import type { Db, Collection as MongoCollection } from 'mongodb';
import type { Connection } from './connection.js';
import { isDuplicate } from './layout.js';

const { chain, endOf, undoing, verifyChain } = audit;
type Placed<E extends AuditEntry> = audit.Placed<E>;

const HEAD = 'head';
const RETRY_MS = 40;
const BATCH = 1000;

interface HeadDocument<E> {
  readonly _id: typeof HEAD;
  readonly number: number;
  readonly hash: string | null;
  readonly entry: E | null;
}

interface AuditDocument {
  readonly _id: typeof HEAD | number;
  readonly [field: string]: unknown;
}

export class MongoAudit<E extends AuditEntry> {
  readonly #connection: Connection;
  readonly #name: string;

  constructor(connection: Connection, name: string) {
    this.#connection = connection;
    this.#name = name;
  }

  /**
   * Appends an audit entry and then makes a change. If nothing was changed, appends a second entry that revokes the
   * first, unless MongoDB has become unreachable.
   * @param change resolves with true if it changed anything
   */
  async around(entry: E, change: () => Promise<boolean>): Promise<boolean> {
    const written = await this.#append(entry);
    const undo = () => this.#append(undoing(written, entry.time) as unknown as E);
    try {
      const isMade = await change();
      if (!isMade) await undo();
      return isMade;
    } catch (error) {
      if (isDuplicate(error) || isDuplicate((error as Error).cause)) await undo();
      throw error;
    }
  }

  /**
   * Replaces all audit entries with the entries of a backup. No other process may write to the log at the same time.
   */
  async replace(entries: readonly E[]): Promise<void> {
    const documents: readonly AuditDocument[] = entries.map((entry, i) => ({ ...(entry as object), _id: i + 1 }));
    await this.#connection.run('delete the audit', (db) => this.#documents(db).deleteMany({}));
    for (let from = 0; from < documents.length; from += BATCH) {
      const batch = documents.slice(from, from + BATCH);
      await this.#connection.run('write the audit', (db) => this.#documents(db).insertMany(batch));
    }
    const head: HeadDocument<E> = { _id: HEAD, number: documents.length, hash: endOf(entries), entry: null };
    await this.#connection.run('write the audit', (db) => this.#documents(db).insertOne({ ...head }));
  }

  async list(): Promise<readonly E[]> {
    return (await this.#read()).placed.map(({ entry }) => entry);
  }

  async verify(expected?: string): Promise<AuditVerification> {
    const { placed, head } = await this.#read();
    return verifyChain(placed, head?.hash, expected);
  }

  async #append(entry: E): Promise<E> {
    return this.#connection.run('write the audit', async (db) => {
      const documents = this.#documents(db);
      for (;;) {
        const head = (await this.#head(db)) ?? (await this.#begin(db));
        if (!head) continue;
        if (head.entry) await this.#insert(db, head.number, head.entry);
        const linked = chain(entry, head.hash);
        const number = head.number + 1;
        const { matchedCount } = await documents.updateOne(
          { _id: HEAD, number: head.number, hash: head.hash },
          { $set: { number, hash: linked.hash, entry: linked } },
        );
        if (matchedCount === 0) {
          // A random delay keeps competing processes from colliding again.
          await delay(RETRY_MS * Math.random());
          continue;
        }
        await this.#insert(db, number, linked);
        return linked;
      }
    });
  }

  async #begin(db: Db): Promise<HeadDocument<E> | undefined> {
    const documents = this.#documents(db);
    const last = await documents.findOne({ _id: { $gte: 0 } }, { sort: { _id: -1 } });
    const hash = (last?.['hash'] as string | undefined) ?? null;
    const head: HeadDocument<E> = { _id: HEAD, number: Number(last?._id ?? 0), hash, entry: null };
    try {
      await documents.insertOne({ ...head });
      return head;
    } catch (error) {
      if (isDuplicate(error)) return undefined;
      throw error;
    }
  }

  async #insert(db: Db, number: number, entry: E): Promise<void> {
    try {
      await this.#documents(db).updateOne(
        { _id: number },
        { $setOnInsert: { ...entry } as Record<string, unknown> },
        { upsert: true },
      );
    } catch (error) {
      if (!isDuplicate(error)) throw error;
    }
  }

  async #read(): Promise<{ placed: readonly Placed<E>[]; head: HeadDocument<E> | null }> {
    for (;;) {
      const head = await this.#connection.run('read the audit', (db) => this.#head(db));
      const placed = await this.#entries();
      const after = await this.#connection.run('read the audit', (db) => this.#head(db));
      // If a process appended an entry between the two reads, both are repeated.
      if (after?.number !== head?.number || after?.hash !== head?.hash) continue;
      // If a process stopped while appending the newest entry, that entry exists only in the head.
      const place = `entry ${head?.number}`;
      if (head?.entry && placed.at(-1)?.place !== place) placed.push({ entry: head.entry, place });
      return { placed, head };
    }
  }

  async #entries(): Promise<Placed<E>[]> {
    const cursor = this.#documents(this.#connection.db).find({ _id: { $ne: HEAD } }, { sort: { _id: 1 } });
    const placed: Placed<E>[] = [];
    for await (const batch of this.#connection.batches('read the audit', cursor)) {
      for (const { _id, ...entry } of batch) placed.push({ entry: entry as unknown as E, place: `entry ${_id}` });
    }
    return placed;
  }

  async #head(db: Db): Promise<HeadDocument<E> | null> {
    return (await this.#documents(db).findOne({ _id: HEAD })) as HeadDocument<E> | null;
  }

  #documents(db: Db): MongoCollection<AuditDocument> {
    return db.collection<AuditDocument>(this.#name);
  }
}
