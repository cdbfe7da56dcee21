import { access } from 'node:fs/promises';
import { dirname } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import {
  type AdapterContext,
  type AdapterModule,
  type DataAudit,
  type Dataset,
  files,
  type History,
  type PublishOptions,
  publishing,
  type Snapshot,
  type StorageAdapter,
  StorageError,
  type Versions,
  version,
} from 'metro-forecast-api/adapter';
import { sqliteDataAudit } from './audit.js';
import { type Activation, hasVersion, openStore, readActivationAt, readCatalogNow, readCurrent } from './catalog.js';
import { type ReadConnection, ThreadedConnection } from './connection.js';
import { sqliteHistory } from './history.js';
import { isBusy, NO_DATASET, UNSUITABLE } from './problems.js';
import { type ImportedDataset, publish, type ToPublish } from './publish.js';
import { type Reader, Readers } from './readers.js';
import { SqliteSnapshot } from './snapshot.js';
import { sqliteVersions } from './versions.js';

const POLL_MS = 1000;
const LOCKED_MS = 5000;

interface SqliteOptions {
  readonly path: string;
  readonly pollMs?: number;
}

interface Served {
  readonly reader: Reader;
  readonly activation: Activation;
}

const isSame = (a: Activation | undefined, b: Activation): boolean =>
  a?.versionId === b.versionId && +a.activatedAt === +b.activatedAt;

export class SqliteAdapter implements StorageAdapter {
  readonly audit: DataAudit;
  readonly history: History;
  readonly versions: Versions;
  readonly #path: string;
  readonly #pollMs: number;
  readonly #context: AdapterContext;
  readonly #readers: Readers;
  readonly #closing = new AbortController();
  readonly #writing = new Set<Promise<unknown>>();
  readonly #assertOpen = (): void => {
    if (this.#closing.signal.aborted) throw new StorageError('closed', 'The SQLite adapter has been closed.');
  };
  #opening: Promise<void> | undefined;
  #timer: NodeJS.Timeout | undefined;
  /** A connection without a transaction. Undefined until the database exists. */
  #catalog: ReadConnection | undefined;
  #served: Served | undefined;
  /** The last activation that cannot be served with this configuration. Polls do not try it again. */
  #refused: { readonly activation: Activation; readonly error: StorageError } | undefined;
  #problem: string | undefined;

  constructor({ path, pollMs = POLL_MS }: SqliteOptions, context: AdapterContext) {
    this.#path = context.resolvePath(path);
    this.#pollMs = pollMs;
    this.#context = context;
    this.#readers = new Readers(this.#path, context.collections, () => this.#catalog?.assertSameFile());
    const withConnection = <T>(work: (connection: ThreadedConnection) => Promise<T>) => this.#withConnection(work);
    this.audit = sqliteDataAudit(withConnection);
    const ifConnected = async <T>(work: (connection: ThreadedConnection) => Promise<T>) =>
      this.#ensureConnected() ? withConnection(work) : undefined;
    this.history = sqliteHistory(ifConnected, () => {
      this.#served = undefined;
    });
    const stored = sqliteVersions({
      clock: context.clock,
      withConnection: ifConnected,
      read: () => (this.#ensureConnected() ? readCatalogNow(this.#catalog!) : undefined),
      poll: () => this.#poll(),
      isHeld: (id) => id === this.#served?.activation.versionId || this.#readers.isHeld(id),
      deleting: this.#readers.deleting,
    });
    this.versions = { ...stored, asOf: async (time) => this.#asOf(time) };
  }

  async open(): Promise<void> {
    this.#assertOpen();
    this.#opening ??= this.#open().catch((error: unknown) => {
      this.#opening = undefined;
      throw error;
    });
    await this.#opening;
  }

  async close(): Promise<void> {
    this.#closing.abort();
    clearInterval(this.#timer);
    await this.#opening?.catch(() => {});
    await Promise.allSettled(this.#writing);
    this.#served = undefined;
    await this.#readers.close();
    this.#catalog?.close();
    this.#catalog = undefined;
  }

  async ping(signal?: AbortSignal): Promise<void> {
    this.#assertOpen();
    if (signal?.aborted) throw new StorageError('aborted', 'The caller has aborted the read.');
    if (!this.#ensureConnected()) throw new StorageError('unavailable', `There is no database ${this.#path}.`);
    readCurrent(this.#catalog!);
  }

  snapshot(): Snapshot {
    this.#assertOpen();
    if (!this.#served) throw publishing.nothingPublished(this.#problem);
    return this.#snapshotOf(this.#served);
  }

  async publish(dataset: Dataset, options: PublishOptions = {}): Promise<void> {
    const { manifest } = dataset;
    const read = (name: string) => dataset.read(name);
    const { version } = manifest;
    await this.#publish(
      { manifest, known: version, written: () => undefined, read, version: async () => version },
      options,
    );
  }

  /**
   * Publishes a table while it is being imported. The rows must already be validated and converted to JSON. Errors from
   * reading the rows are not converted to `invalid_dataset`.
   */
  async import(dataset: ImportedDataset, options: PublishOptions = {}): Promise<void> {
    await this.#publish(dataset, options);
  }

  async checkIntegrity(full: boolean): Promise<readonly string[]> {
    const check = full ? 'integrity_check' : 'quick_check';
    const rows = await this.#withConnection((connection) => connection.rows(`PRAGMA ${check}`));
    return rows.map(([error]) => String(error)).filter((error) => error !== 'ok');
  }

  async #publish(dataset: ToPublish, options: PublishOptions): Promise<void> {
    this.#assertOpen();
    const signal = options.signal ? AbortSignal.any([options.signal, this.#closing.signal]) : this.#closing.signal;
    await this.#tracked(publish(this.#path, this.#context, dataset, { ...options, signal, poll: () => this.#poll() }));
  }

  #snapshotOf({ reader, activation }: Served): Snapshot {
    reader.holds++;
    return new SqliteSnapshot(reader, activation.activatedAt, this.#assertOpen);
  }

  #asOf(time: Date): Snapshot | undefined {
    if (!this.#ensureConnected()) return undefined;
    const activation = readActivationAt(this.#catalog!, time);
    // A deleted version can still have an open reader, so the catalog is checked before the reader is used.
    const isStored = activation && hasVersion(this.#catalog!, activation.versionId);
    const reader = isStored && this.#readers.open(activation.versionId);
    return reader ? this.#snapshotOf({ reader, activation }) : undefined;
  }

  /** Waits for a write and then polls. When the promise resolves, the change is in effect in this process. */
  async #tracked<T>(writing: Promise<T>): Promise<T> {
    this.#writing.add(writing);
    try {
      const result = await writing;
      this.#poll();
      return result;
    } catch (error) {
      this.#assertOpen();
      throw error;
    } finally {
      this.#writing.delete(writing);
    }
  }

  async #withConnection<T>(work: (connection: ThreadedConnection) => Promise<T>): Promise<T> {
    if (!this.#ensureConnected()) throw new StorageError('unavailable', `There is no database ${this.#path}.`);
    return this.#tracked(ThreadedConnection.use(this.#path, work));
  }

  async #open(): Promise<void> {
    await this.#assertFolder();
    for (const until = performance.now() + LOCKED_MS; ; await delay(50)) {
      try {
        this.#report(this.#ensureConnected() ? this.#follow(this.#catalog!) : NO_DATASET);
        break;
      } catch (error) {
        if (!isBusy(error) || performance.now() > until) throw error;
      }
    }
    this.#timer ??= setInterval(() => this.#poll(), this.#pollMs).unref();
    if (this.#refused) throw this.#refused.error;
  }

  async #assertFolder(): Promise<void> {
    try {
      await access(dirname(this.#path));
    } catch (cause) {
      const reason = files.fileErrorReason(cause);
      throw new StorageError('unavailable', `The folder of ${this.#path} cannot be read: ${reason}.`, { cause });
    }
  }

  #ensureConnected(): boolean {
    this.#assertOpen();
    if (this.#catalog) return true;
    const connection = openStore(this.#path);
    try {
      connection?.turnOnLog();
    } catch (error) {
      connection?.close();
      throw error;
    }
    this.#catalog = connection;
    return connection !== undefined;
  }

  /** Polls for a new version. Never throws, because the next poll tries again. */
  #poll(): void {
    if (this.#closing.signal.aborted) return;
    try {
      this.#report(this.#ensureConnected() ? this.#follow(this.#catalog!) : NO_DATASET);
    } catch (error) {
      this.#report('The database cannot be read.', error);
    }
  }

  /** Returns a message if the current version cannot be served. */
  #follow(catalog: ReadConnection): string | undefined {
    catalog.assertSameFile();
    const activation = readCurrent(catalog);
    this.#readers.renew(catalog, this.#served?.activation.versionId);
    if (!activation) return NO_DATASET;
    if (isSame(this.#served?.activation, activation)) return undefined;
    if (isSame(this.#refused?.activation, activation)) return UNSUITABLE;
    let reader: Reader | undefined;
    try {
      reader = this.#readers.open(activation.versionId);
    } catch (error) {
      if (!(error instanceof StorageError && error.code === 'invalid_dataset')) throw error;
      this.#refused = { activation, error };
      this.#context.logger.error({ err: error }, 'the new version is not served');
      return UNSUITABLE;
    }
    // Another process has just deleted this version. The next poll finds a newer version.
    if (!reader) return undefined;
    this.#refused = undefined;
    this.#served = { reader, activation };
    this.#context.changed();
    return undefined;
  }

  #report(problem: string | undefined, err?: unknown): void {
    if (problem === this.#problem) return;
    this.#problem = problem;
    const { logger } = this.#context;
    if (problem === NO_DATASET) logger.warn({ path: this.#path }, 'the database has no dataset yet: waiting for one');
    else if (err) logger.error({ err, path: this.#path }, 'the database cannot be read; retrying');
    else if (!problem) logger.info({ path: this.#path }, 'the database can be read');
    this.#context.problem(problem);
  }
}

const sqlite: AdapterModule<SqliteOptions> = {
  kind: 'adapter',
  name: 'sqlite',
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
  options: {
    type: 'object',
    required: ['path'],
    additionalProperties: false,
    properties: {
      path: { type: 'string', minLength: 1, description: 'The database file. The first publication creates it.' },
      pollMs: {
        type: 'integer',
        minimum: 10,
        default: POLL_MS,
        description: 'Interval between two checks for a new version, in milliseconds.',
      },
    },
  },
  create: (options, context) => new SqliteAdapter(options, context),
};

export default sqlite;
