/** The `mongo` adapter: any number of replicas share a MongoDB database, and all replicas serve the same version. */
import {
  type AdapterContext,
  type AdapterModule,
  type DataAudit,
  type Dataset,
  type History,
  type PublishOptions,
  type Snapshot,
  type StorageAdapter,
  StorageError,
  version,
} from 'metro-forecast-api/adapter';
import { Catalog, type Publication } from './catalog.js';
import { type Access, Connection, checkConnection } from './connection.js';
import { CurrentVersion } from './current-version.js';
import { mongoDataAudit } from './data-audit.js';
import { mongoHistory } from './history.js';
import { forWriting, type Given, type MongoOptions, mongoOptions, withDefaults } from './options.js';
import { isRejected, isUnreachable } from './problems.js';
import { publish } from './publish.js';
import { MongoSnapshot } from './snapshot.js';
import { type LockedVersion, LockedVersions } from './version-locks.js';
import { MongoVersions } from './versions.js';

class MongoAdapter implements StorageAdapter {
  readonly versions: MongoVersions;
  readonly audit: DataAudit;
  readonly history: History;
  readonly #options: MongoOptions;
  readonly #context: AdapterContext;
  readonly #connection: Connection;
  readonly #catalog: Catalog;
  readonly #locks: LockedVersions;
  readonly #current: CurrentVersion;
  readonly #life = new AbortController();
  readonly #running = new Set<Promise<unknown>>();
  #opening: Promise<void> | undefined;
  #closing: Promise<void> | undefined;

  constructor(options: MongoOptions, context: AdapterContext) {
    this.#options = options;
    this.#context = context;
    const access: Access = {
      read: (work) => this.#read(work),
      withOwnConnection: (work) => this.#withOwnConnection(work),
    };
    this.audit = mongoDataAudit(options.batchSize, access);
    const history = mongoHistory(access);
    this.history = { ...history, clear: () => history.clear().then(() => this.#current.forget()) };
    const connection = new Connection(options, (ms) => context.timed?.(ms));
    const catalog = new Catalog(connection);
    const locks = new LockedVersions(connection, catalog, context, options.holdMs);
    this.#connection = connection;
    this.#catalog = catalog;
    this.#locks = locks;
    this.#current = new CurrentVersion({ connection, catalog, locks }, options, context);
    this.versions = new MongoVersions({
      clock: context.clock,
      locks,
      current: this.#current,
      ...access,
      snapshotOf: (version, publication) => this.#snapshotOf(version, publication),
    });
  }

  async open(): Promise<void> {
    this.#assertOpen();
    this.#opening ??= this.#current.start();
    await this.#opening;
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async ping(signal?: AbortSignal): Promise<void> {
    this.#assertOpen();
    await this.#connection.connect(signal);
    await this.#catalog.current(signal);
  }

  snapshot(): Snapshot {
    this.#assertOpen();
    const { locked, publication } = this.#current.served;
    return this.#snapshotOf(this.#locks.addReader(locked), publication);
  }

  async publish(dataset: Dataset, options: PublishOptions = {}): Promise<void> {
    const signal = options.signal ? AbortSignal.any([options.signal, this.#life.signal]) : this.#life.signal;
    const { collections, clock, logger } = this.#context;
    const { batchSize, lockMs } = this.#options;
    await this.#withOwnConnection((connection) =>
      publish({ connection, collections, clock, logger, batchSize, lockMs }, dataset, { ...options, signal }),
    );
  }

  #read<T>(work: (connection: Connection) => Promise<T>): Promise<T> {
    return this.#run(async () => {
      await this.#connection.connect();
      return work(this.#connection);
    });
  }

  /** Runs a change or a long read on a separate connection, which has longer timeouts, and then polls. */
  async #withOwnConnection<T>(work: (connection: Connection) => Promise<T>): Promise<T> {
    const result = await this.#run(async () => {
      const connection = new Connection(forWriting(this.#options));
      try {
        await this.#assertReachable();
        await connection.connect();
        return await work(connection);
      } finally {
        await connection.close();
      }
    });
    await this.#current.poll();
    return result;
  }

  /** Runs an operation. `close` waits until it settles. */
  async #run<T>(work: () => Promise<T>): Promise<T> {
    this.#assertOpen();
    const running = work();
    this.#running.add(running);
    try {
      return await running;
    } catch (error) {
      this.#assertOpen();
      throw error;
    } finally {
      this.#running.delete(running);
    }
  }

  /** Checks the connection before a write. Rejects if MongoDB is unreachable or rejects the credentials. */
  async #assertReachable(): Promise<void> {
    try {
      await this.#connection.connect();
    } catch (error) {
      const { cause } = error as Error;
      if (isUnreachable(cause) || isRejected(cause)) throw error;
    }
  }

  #snapshotOf(locked: LockedVersion, publication: Publication): Snapshot {
    const context = {
      connection: this.#connection,
      collections: this.#context.collections,
      locks: this.#locks,
      batchSize: this.#options.batchSize,
      assertOpen: () => this.#assertOpen(),
    };
    return new MongoSnapshot(context, locked, publication);
  }

  async #close(): Promise<void> {
    this.#life.abort();
    await Promise.allSettled(this.#running);
    await this.#current.stop();
    await this.#locks.releaseAll();
    await this.#connection.close();
  }

  #assertOpen(): void {
    if (this.#life.signal.aborted) throw new StorageError('closed', 'The MongoDB adapter has been closed.');
  }
}

const mongo: AdapterModule<Given<MongoOptions>> = {
  kind: 'adapter',
  name: 'mongo',
  version,
  capabilities: {
    publish: true,
    versions: true,
    durable: true,
    follows: true,
    audit: true,
    json: true,
    totals: true,
    search: true,
  },
  options: mongoOptions,
  check: checkConnection,
  create: (options, context) => new MongoAdapter(withDefaults<MongoOptions>(mongoOptions, options), context),
};

export default mongo;
