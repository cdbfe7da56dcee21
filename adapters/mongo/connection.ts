/** A connection to one MongoDB database that may be away, now and later. */
import {
  type Collection,
  type Db,
  type Document,
  type Filter,
  type FindCursor,
  type FindOptions,
  MongoClient,
  type MongoClientOptions,
  MongoNetworkError,
  MongoServerError,
  type WithId,
} from 'mongodb';
import { OperatorError } from '../../core/errors.js';
import { bounded } from './bounded.js';
import type { ConnectionOptions } from './options.js';

const DEFAULT_DATABASE = 'dataset';

/** The part of a connection string between the hosts and the parameters. */
const databaseOf = (uri: string): string | undefined =>
  decodeURIComponent(/^mongodb(?:\+srv)?:\/\/[^/]+\/([^?]+)/.exec(uri)?.[1] ?? '') || undefined;

/** Those of the driver's that the command takes as they are. */
type FirstOptions = Pick<FindOptions, 'projection' | 'hint'>;

interface FirstReply<T> {
  readonly cursor: { readonly firstBatch: readonly T[] };
}

export class Connection {
  readonly db: Db;
  /**
   * The same database for reads by which somebody is answered. A write concern, which `db` has, is among the options of
   * a find, too, until the driver deletes it there: an object that has lost a property is slow to copy, and the driver
   * copies it for each find.
   */
  readonly answers: Db;
  readonly #client: MongoClient;
  readonly #operationMs: number;

  /** @throws `OperatorError` for a connection string that is none */
  constructor(options: ConnectionOptions) {
    this.#operationMs = options.operationMs;
    const settings: MongoClientOptions = {
      serverSelectionTimeoutMS: options.serverSelectionMs,
      connectTimeoutMS: options.connectMs,
      waitQueueTimeoutMS: options.waitQueueMs,
      socketTimeoutMS: options.operationMs,
      // How soon a server that hangs is seen as away: about this and connectMs together.
      heartbeatFrequencyMS: 2000,
      minPoolSize: options.poolMin,
      maxPoolSize: options.poolMax,
      // A secondary may not have all of a version yet, and says nothing about it: rows would be missing.
      readPreference: 'primary',
      retryReads: true,
      retryWrites: true,
      ignoreUndefined: true,
    };
    try {
      this.#client = new MongoClient(options.uri, settings);
    } catch (cause) {
      // Without the driver's sentence: it quotes parts of the string, which may be parts of a password.
      throw new OperatorError(
        'MongoDB: the connection string (options.uri, MONGODB_URI) cannot be read.',
        [
          'write mongodb://HOST:PORT/?replicaSet=NAME or mongodb+srv://HOST/',
          'percent-encode what is special in the user name and the password: @ is %40, : is %3A, / is %2F',
        ],
        { cause },
      );
    }
    const name = options.database ?? databaseOf(options.uri) ?? DEFAULT_DATABASE;
    this.db = this.#client.db(name, { writeConcern: { w: 'majority' } });
    this.answers = this.#client.db(name);
  }

  /** To be awaited before the first operation, until it has resolved once: a client that never was connected stays shut. */
  async connect(signal?: AbortSignal): Promise<void> {
    await bounded('connect', this.#operationMs, signal, () => this.#client.connect());
  }

  /** One bounded operation. Rejects with a `StorageError`. */
  run<T>(what: string, work: (db: Db) => Promise<T>, signal?: AbortSignal): Promise<T> {
    return bounded(what, this.#operationMs, signal, () => work(this.db));
  }

  /** The first document that a find gives, or null: one bounded operation. @param collection one of `answers` */
  first<T extends Document>(
    what: string,
    collection: Collection<T>,
    filter: Filter<T>,
    options: FirstOptions,
    signal?: AbortSignal,
  ): Promise<WithId<T> | null> {
    return bounded(what, this.#operationMs, signal, () => this.#first(collection, filter, options));
  }

  /** By the bare command: the driver's cursor around it takes about a tenth of the processor time of such an answer. */
  async #first<T extends Document>(
    collection: Collection<T>,
    filter: Filter<T>,
    options: FirstOptions,
  ): Promise<WithId<T> | null> {
    try {
      const command = { find: collection.collectionName, filter, ...options, limit: 1, singleBatch: true };
      const { cursor } = (await this.answers.command(command)) as FirstReply<WithId<T>>;
      return cursor.firstBatch[0] ?? null;
    } catch (error) {
      if (!(error instanceof MongoNetworkError || error instanceof MongoServerError)) throw error;
      // The driver retries its own finds, as after the election of another primary, but no command that it is given.
      return collection.findOne(filter, options);
    }
  }

  /** What a cursor finds, batch by batch as the server sends them; each is one bounded operation. */
  async *batches<T>(what: string, cursor: FindCursor<T>, signal?: AbortSignal): AsyncGenerator<T[]> {
    try {
      while (await bounded(what, this.#operationMs, signal, () => cursor.hasNext())) {
        yield cursor.readBufferedDocuments();
      }
    } finally {
      // Nobody waits for a server that hangs to close it.
      cursor.close().catch(() => undefined);
    }
  }

  async close(): Promise<void> {
    // A server that hangs never hears of it: what is left is closed by the system.
    await bounded('close', this.#operationMs, undefined, () => this.#client.close()).catch(() => undefined);
  }
}
