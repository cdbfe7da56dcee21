import { files, OperatorError, StorageError } from 'metro-forecast-api/adapter';
import {
  BSON,
  type ChangeStream,
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
} from 'mongodb';
import type { ConnectionOptions } from './options.js';
import { mongoReason } from './problems.js';

export const toStorageError = (error: unknown, what: string): StorageError =>
  error instanceof StorageError
    ? error
    : new StorageError('unavailable', `MongoDB could not ${what}: ${mongoReason(error)}`, { cause: error });

/**
 * Settles like `work`, but rejects with `unavailable` after `ms` milliseconds, and with `aborted` when `signal` is
 * aborted. The MongoDB driver has a timeout for each stage of an operation, but none for the whole operation with its
 * retries. After a rejection, the operation continues until one of the driver's timeouts expires.
 * @param timed called with the duration of successful work, in milliseconds
 */
export const bounded = <T>(
  what: string,
  ms: number,
  signal: AbortSignal | undefined,
  work: () => Promise<T>,
  timed?: (ms: number) => void,
): Promise<T> =>
  new Promise((resolve, reject) => {
    const since = performance.now();
    const settle = () => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', abort);
    };
    const abort = () => {
      settle();
      reject(new StorageError('aborted', `Aborted before MongoDB could ${what}.`, { cause: signal?.reason }));
    };
    const timer = setTimeout(() => {
      settle();
      reject(new StorageError('unavailable', `MongoDB did not ${what} within ${ms} ms.`));
    }, ms);
    if (signal?.aborted) return abort();
    signal?.addEventListener('abort', abort, { once: true });
    work().then(
      (value) => {
        settle();
        timed?.(performance.now() - since);
        resolve(value);
      },
      (error: unknown) => {
        settle();
        reject(toStorageError(error, what));
      },
    );
  });

const DEFAULT_DATABASE = 'dataset';

const databaseOf = (uri: string): string | undefined =>
  decodeURIComponent(/^mongodb(?:\+srv)?:\/\/[^/]+\/([^?]+)/.exec(uri)?.[1] ?? '') || undefined;

export interface Found {
  /** The documents as a BSON array. */
  readonly documents: Uint8Array;
  /** True if not all documents fit into the reply. */
  readonly isCut: boolean;
}

const foundIn = (reply: Uint8Array): { readonly documents: Uint8Array; readonly cursor: bigint } => {
  let documents = reply;
  let cursor = 0n;
  const view = Buffer.from(reply.buffer, reply.byteOffset, reply.length);
  for (const [, nameOffset, nameLength, offset, length] of BSON.onDemand.parseToElements(reply)) {
    const name = view.toString('latin1', nameOffset, nameOffset + nameLength);
    if (name === 'firstBatch') documents = view.subarray(offset, offset + length);
    else if (name === 'id') cursor = view.readBigInt64LE(offset);
  }
  return { documents, cursor };
};

/** Advice that replaces the driver's message, which might contain a password. */
const WRITE_IT = [
  'write mongodb://HOST:PORT/?replicaSet=NAME or mongodb+srv://HOST/',
  'percent-encode special characters in the user name and the password: @ is %40, : is %3A, / is %2F',
];

/** Matches driver messages about parameters, which never contain credentials. */
const ABOUT_PARAMETERS =
  /^(options? |URI option |Expected |Invalid read preference|All values of tls|tls\/ssl|authMechanism)/;

export const checkConnection = ({ uri }: Pick<ConnectionOptions, 'uri'>): Readonly<Record<string, string>> => {
  try {
    new MongoClient(uri);
    databaseOf(uri);
    return {};
  } catch (error) {
    const { message } = error as Error;
    // An @ after a question mark might mean that the question mark is part of an unencoded password.
    if (ABOUT_PARAMETERS.test(message) && !/\?.*@/.test(uri)) {
      return { uri: `has an invalid parameter after the question mark: ${message}` };
    }
    return {
      uri: `is not a valid connection string (not shown, since it may contain a password); ${WRITE_IT.join('; ')}`,
    };
  }
};

const FILE_PARAMETERS = ['tlsCAFile', 'tlsCRLFile', 'tlsCertificateKeyFile'] as const;
const MAX_FILE_BYTES = 16 * 2 ** 20;

/** Rejects unreadable files, and pipes, which would block a thread forever. */
const checkFiles = async (options: MongoClientOptions): Promise<void> => {
  for (const parameter of FILE_PARAMETERS) {
    const path = options[parameter];
    if (path === undefined) continue;
    try {
      for await (const _ of files.streamRegular(path, MAX_FILE_BYTES));
    } catch (cause) {
      const message = `${parameter} of the connection string: cannot read ${path}: ${files.fileErrorReason(cause)}`;
      throw new Error(message, { cause });
    }
  }
};

/**
 * Gives the parts of the adapter their connections. Short reads share one connection. Each change or long read opens
 * its own.
 */
export interface Access {
  read<T>(work: (connection: Connection) => Promise<T>): Promise<T>;
  withOwnConnection<T>(work: (connection: Connection) => Promise<T>): Promise<T>;
}

export class Connection {
  readonly db: Db;
  /**
   * The database for reads, without a write concern. With a write concern, the driver would copy the options of each
   * `find`, which is slow.
   */
  readonly readDb: Db;
  readonly #client: MongoClient;
  readonly #operationMs: number;
  readonly #timed: ((ms: number) => void) | undefined;
  /** True if the files named in the connection string have been checked. The driver reads each file only once. */
  #checked = false;

  constructor(options: ConnectionOptions, timed?: (ms: number) => void) {
    this.#timed = timed;
    this.#operationMs = options.operationMs;
    const settings: MongoClientOptions = {
      serverSelectionTimeoutMS: options.serverSelectionMs,
      connectTimeoutMS: options.connectMs,
      waitQueueTimeoutMS: options.waitQueueMs,
      socketTimeoutMS: options.operationMs,
      // A server that hangs is detected after about heartbeatFrequencyMS + connectMs.
      heartbeatFrequencyMS: 2000,
      minPoolSize: options.poolMin,
      maxPoolSize: options.poolMax,
      // A secondary might not have all rows of a version yet.
      readPreference: 'primary',
      retryReads: true,
      retryWrites: true,
      ignoreUndefined: true,
    };
    try {
      this.#client = new MongoClient(options.uri, settings);
    } catch (cause) {
      throw new OperatorError('MongoDB: the connection string (options.uri, MONGODB_URI) is not valid.', WRITE_IT, {
        cause,
      });
    }
    const name = options.database ?? databaseOf(options.uri) ?? DEFAULT_DATABASE;
    this.db = this.#client.db(name, { writeConcern: { w: 'majority' } });
    this.readDb = this.#client.db(name);
  }

  /**
   * Establishes the first connection. If `connect` rejects, call it again. Later, the client reconnects automatically.
   */
  async connect(signal?: AbortSignal): Promise<void> {
    await bounded('connect', this.#operationMs, signal, async () => {
      this.#checked ||= await checkFiles(this.#client.options).then(() => true);
      await this.#client.connect();
    });
  }

  /** @param what completes the error message "MongoDB could not ..." */
  run<T>(what: string, work: (db: Db) => Promise<T>, signal?: AbortSignal): Promise<T> {
    return bounded(what, this.#operationMs, signal, () => work(this.db), this.#timed);
  }

  /** Calls `connect` first, because `watch` would connect without checking the files. */
  async watch(collection: string, waitMs: number): Promise<ChangeStream> {
    await this.connect();
    return this.db.collection(collection).watch([], { maxAwaitTimeMS: waitMs });
  }

  /**
   * Reads documents with a single command. A driver cursor would take a tenth of the CPU time of a small request, and
   * would create several objects for each document.
   * @param options must contain a limit
   */
  find<T extends Document>(
    what: string,
    collection: Collection<T>,
    filter: Filter<T>,
    options: FindOptions,
    signal?: AbortSignal,
  ): Promise<Found> {
    const command = { find: collection.collectionName, filter, ...options, batchSize: options.limit };
    return bounded(what, this.#operationMs, signal, () => this.#find(command), this.#timed);
  }

  async #find(command: Document): Promise<Found> {
    const read = async () => foundIn((await this.readDb.command(command, { raw: true }))['cursor']);
    const { documents, cursor } = await read().catch((error: unknown) => {
      // The driver retries `find()` after an election of a new primary, but it does not retry `command()`.
      if (error instanceof MongoNetworkError || error instanceof MongoServerError) return read();
      throw error;
    });
    if (cursor === 0n) return { documents, isCut: false };
    // A reply contains at most 16 MiB. The caller reads the remaining documents with another `find`, so the cursor is
    // closed.
    this.readDb.command({ killCursors: command['find'], cursors: [cursor] }).catch(() => undefined);
    return { documents, isCut: true };
  }

  async *batches<T>(what: string, cursor: FindCursor<T>, signal?: AbortSignal): AsyncGenerator<T[]> {
    try {
      while (await bounded(what, this.#operationMs, signal, () => cursor.hasNext(), this.#timed)) {
        yield cursor.readBufferedDocuments();
      }
    } finally {
      // Closing the cursor is not awaited, because the server might hang.
      cursor.close().catch(() => undefined);
    }
  }

  /** Resolves with undefined if the aggregation times out. */
  async aggregate<T extends Document>(
    what: string,
    collection: Collection<never>,
    pipeline: Document[],
    signal?: AbortSignal,
  ): Promise<readonly T[] | undefined> {
    // The server stops the aggregation before the timeout of the operation expires.
    const maxTimeMS = Math.ceil(this.#operationMs * 0.8);
    const read = () => collection.aggregate<T>(pipeline, { maxTimeMS }).toArray();
    try {
      return await bounded(what, this.#operationMs, signal, read);
    } catch (error) {
      const { cause } = error as StorageError;
      if (cause instanceof MongoServerError && cause.codeName === 'MaxTimeMSExpired') return undefined;
      throw error;
    }
  }

  async close(): Promise<void> {
    // If the server hangs, the operating system closes the connections when the process exits.
    await bounded('close', this.#operationMs, undefined, () => this.#client.close()).catch(() => undefined);
  }
}
