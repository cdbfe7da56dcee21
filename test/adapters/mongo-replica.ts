/** Several MongoDB adapters share one database, like replicas. */
import { once } from 'node:events';
import { MongoClient } from 'mongodb';
import { find } from '../../adapters/conformance/find-rows.js';
import { collections, items, type Rows, rowsWithCrowd } from '../../adapters/conformance/fixture.js';
import { Connection } from '../../adapters/mongo/connection.js';
import mongo from '../../adapters/mongo/index.js';
import type { MongoOptions } from '../../adapters/mongo/options.js';
import type { Document } from '../../core/contracts/dataset.js';
import { systemClock } from '../../core/contracts/runtime.js';
import type { AdapterContext, StorageAdapter } from '../../core/contracts/storage.js';
import { type KeptLogger, keptLogger } from '../support/kept-logger.js';

export interface Replica {
  readonly adapter: StorageAdapter & Required<Pick<StorageAdapter, 'publish' | 'versions' | 'audit' | 'history'>>;
  /** Messages passed to `problem()`. Undefined means that the adapter has recovered. */
  readonly problems: readonly (string | undefined)[];
  readonly logger: KeptLogger;
  version(): string | undefined;
  items(): Promise<Document[]>;
}

/** Shorter times than the defaults of 1,000 and 30,000 ms make the tests faster. */
const OPTIONS: Partial<MongoOptions> = { pollMs: 100, writeMs: 5000 };

/**
 * Lets another publisher take over after one second, for tests that freeze or kill a publisher. Other tests use the
 * default, because a publisher on a slow machine could lose a short lock.
 */
export const SHORT_LOCK: Partial<MongoOptions> = { lockMs: 1000 };

/** The rows fill many batches, so that a test can kill the publisher between two batches. */
export const rowsToPublish = (): Rows => {
  const { crowd = [], ...others } = rowsWithCrowd();
  return { ...others, crowd: crowd.slice(0, 10_000) };
};

export class Replicas {
  readonly #running: Replica[] = [];

  constructor(
    readonly uri: string,
    readonly database: string,
  ) {}

  make(options: Partial<MongoOptions> = {}, context: Partial<AdapterContext> = {}): Replica {
    const problems: (string | undefined)[] = [];
    const logger = keptLogger();
    const adapter = mongo.create(
      { uri: this.uri, database: this.database, ...OPTIONS, ...options },
      {
        collections,
        logger,
        clock: systemClock,
        resolvePath: (path) => path,
        changed: () => undefined,
        problem: (sentence) => problems.push(sentence),
        ...context,
      },
    ) as Replica['adapter'];
    const version = () => {
      try {
        const snapshot = adapter.snapshot();
        snapshot.release();
        return snapshot.version;
      } catch {
        return undefined;
      }
    };
    const readItems = async () => {
      const snapshot = adapter.snapshot();
      try {
        return await find(snapshot, items);
      } finally {
        snapshot.release();
      }
    };
    const replica = { adapter, problems, logger, version, items: readItems };
    this.#running.push(replica);
    return replica;
  }

  async open(options: Partial<MongoOptions> = {}, context: Partial<AdapterContext> = {}): Promise<Replica> {
    const replica = this.make(options, context);
    await replica.adapter.open();
    return replica;
  }

  async raw<T>(work: (db: ReturnType<MongoClient['db']>) => Promise<T>): Promise<T> {
    const client = new MongoClient(this.uri);
    try {
      return await work(client.db(this.database));
    } finally {
      await client.close();
    }
  }

  async storedIds(): Promise<number[]> {
    const names = await this.raw(async (db) => (await db.listCollections().toArray()).map(({ name }) => name));
    const ids = names.flatMap((name) => /^data\.(\d+)\./.exec(name)?.[1] ?? []);
    return [...new Set(ids.map(Number))].sort((a, b) => a - b);
  }

  async close(): Promise<void> {
    await Promise.all(this.#running.map(({ adapter }) => adapter.close()));
  }

  async end(): Promise<void> {
    await this.close();
    await this.raw((db) => db.dropDatabase());
  }
}

export const gate = (): { readonly passed: Promise<void>; open(): void } => {
  const target = new EventTarget();
  return {
    passed: once(target, 'open').then(() => undefined),
    open: () => void target.dispatchEvent(new Event('open')),
  };
};

/** Calls `before` before each operation on any connection while `work` runs. */
export const intercepted = async <T>(
  before: (what: string, connection: Connection) => Promise<unknown>,
  work: () => Promise<T>,
): Promise<T> => {
  const { run } = Connection.prototype;
  Connection.prototype.run = async function (this: Connection, ...operation: Parameters<typeof run>) {
    await before(operation[0], this);
    return run.apply(this, operation);
  } as typeof run;
  try {
    return await work();
  } finally {
    Connection.prototype.run = run;
  }
};

/** Calls `before` once, before the first operation with this name, while `work` runs. */
export const pausedBefore = async <T>(what: string, before: () => Promise<unknown>, work: () => Promise<T>) => {
  let isOver = false;
  const pause = async (operation: string): Promise<void> => {
    if (operation !== what || isOver) return;
    isOver = true;
    await before();
  };
  const result = await intercepted(pause, work);
  if (!isOver) throw new Error(`No connection has started to ${what}.`);
  return result;
};

/** SIGSTOP takes effect with a delay, so this function waits until the server no longer responds. */
export const untilAway = async (adapter: StorageAdapter): Promise<void> => {
  for (let unreachable = false; !unreachable; ) {
    unreachable = await adapter.ping().then(
      () => false,
      () => true,
    );
  }
};
