/** Replicas over one MongoDB database, as tests of the MongoDB adapter need them. */
import { once } from 'node:events';
import { MongoClient } from 'mongodb';
import { collections, items, type Rows, rowsWithCrowd } from '../../adapters/conformance/fixture.js';
import { find } from '../../adapters/conformance/instance.js';
import mongo from '../../adapters/mongo/index.js';
import type { MongoOptions } from '../../adapters/mongo/options.js';
import type { Document } from '../../core/contracts/dataset.js';
import { systemClock } from '../../core/contracts/runtime.js';
import type { AdapterContext, StorageAdapter } from '../../core/contracts/storage.js';
import { type KeptLogger, keptLogger } from '../support/kept-logger.js';

export interface Replica {
  readonly adapter: StorageAdapter & Required<Pick<StorageAdapter, 'publish' | 'versions'>>;
  /** What it said was wrong, undefined for "it is over". */
  readonly problems: readonly (string | undefined)[];
  readonly logger: KeptLogger;
  /** The current version, or undefined while there is none. */
  version(): string | undefined;
  /** The items of the current version. */
  items(): Promise<Document[]>;
}

/** Short spans, so that what takes a minute in production takes a second here. */
const OPTIONS: Partial<MongoOptions> = { pollMs: 100, writeMs: 5000 };

/** For publishers that are going to hang or die; others could lose so short a lock to a machine that stalls. */
export const SHORT_LOCK: Partial<MongoOptions> = { lockMs: 1000 };

/** Rows of every collection that take a publisher many batches, and so long that it can be killed between any two. */
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

  /** One that is not open yet. */
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

  /** Work with the driver alone. */
  async raw<T>(work: (db: ReturnType<MongoClient['db']>) => Promise<T>): Promise<T> {
    const client = new MongoClient(this.uri);
    try {
      return await work(client.db(this.database));
    } finally {
      await client.close();
    }
  }

  /** The ids of versions of which there is data. */
  async storedIds(): Promise<number[]> {
    const names = await this.raw(async (db) => (await db.listCollections().toArray()).map(({ name }) => name));
    const ids = names.flatMap((name) => /^data\.(\d+)\./.exec(name)?.[1] ?? []);
    return [...new Set(ids.map(Number))].sort((a, b) => a - b);
  }

  async close(): Promise<void> {
    await Promise.all(this.#running.map(({ adapter }) => adapter.close()));
  }

  /** Closes all, and drops the database. */
  async end(): Promise<void> {
    await this.close();
    await this.raw((db) => db.dropDatabase());
  }
}

/** A promise and what resolves it. */
export const gate = (): { readonly passed: Promise<void>; open(): void } => {
  const target = new EventTarget();
  return {
    passed: once(target, 'open').then(() => undefined),
    open: () => void target.dispatchEvent(new Event('open')),
  };
};

/** Resolves when the adapter's server does not answer any more: a signal to stop takes effect a moment later. */
export const untilAway = async (adapter: StorageAdapter): Promise<void> => {
  for (let away = false; !away; ) {
    away = await adapter.ping().then(
      () => false,
      () => true,
    );
  }
};
