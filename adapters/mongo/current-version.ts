import { type AdapterContext, publishing, StorageError } from 'metro-forecast-api/adapter';
import { type Catalog, isMove, type Publication } from './catalog.js';
import { type Connection, toStorageError } from './connection.js';
import type { MongoOptions } from './options.js';
import { type ChangeWatch, Poller, watchChanges } from './polling.js';
import { isRejected } from './problems.js';
import type { LockedVersion, LockedVersions } from './version-locks.js';

const UNREACHABLE = 'The database cannot be reached.';
const REJECTED = 'The database rejects the credentials of this service.';
const UNSUITABLE = 'A new version was published for another configuration and is not served.';

export interface Served {
  readonly locked: LockedVersion;
  readonly publication: Publication;
  readonly moves: readonly Publication[];
}

const isSame = (a: Publication, b: Publication): boolean => a.id === b.id && +a.publishedAt === +b.publishedAt;

export class CurrentVersion {
  readonly #connection: Connection;
  readonly #catalog: Catalog;
  readonly #locks: LockedVersions;
  readonly #options: MongoOptions;
  readonly #context: AdapterContext;
  readonly #poller: Poller;
  #watch: ChangeWatch | undefined;
  #served: Served | undefined;
  /** The id of a version that cannot be served with this configuration. Polls skip this version. */
  #refused: number | undefined;
  /** A message for clients. It must not contain server messages. */
  #problem: string | undefined;
  #error: StorageError | undefined;

  constructor(
    { connection, catalog, locks }: { connection: Connection; catalog: Catalog; locks: LockedVersions },
    options: MongoOptions,
    context: AdapterContext,
  ) {
    this.#connection = connection;
    this.#catalog = catalog;
    this.#locks = locks;
    this.#options = options;
    this.#context = context;
    this.#poller = new Poller(options.pollMs, () => this.#poll());
  }

  /** @throws StorageError `unavailable` while no version is served */
  get served(): Served {
    if (this.#served) return this.#served;
    if (this.#error) throw this.#error;
    throw publishing.nothingPublished(this.#problem);
  }

  /** Empty before the first publication. @throws StorageError `unavailable` if every poll so far has failed */
  get moves(): readonly Publication[] {
    return this.#served || this.#problem ? this.served.moves : [];
  }

  async start(): Promise<void> {
    this.#watch = watchChanges(
      () => this.#catalog.watch(this.#options.operationMs / 2),
      { change: (change) => void (isMove(change) && this.#poller.poll()) },
      this.#options.pollMs,
      this.#context.logger,
    );
    await this.#poller.poll();
  }

  poll(): Promise<void> {
    return this.#poller.poll();
  }

  /** Stops serving the current version, because it was deleted. The next poll serves a new version. */
  forget(): void {
    if (this.#served) this.#locks.removeReader(this.#served.locked);
    this.#served = undefined;
  }

  async stop(): Promise<void> {
    this.#watch?.stop();
    await this.#poller.stop();
  }

  async #poll(): Promise<void> {
    try {
      await this.#connection.connect();
      const publication = await this.#catalog.current();
      await this.#locks.renew();
      this.#report(publication && (await this.#follow(publication)));
    } catch (error) {
      this.#report(isRejected((error as Error).cause) ? REJECTED : UNREACHABLE, toStorageError(error, 'poll'));
    }
  }

  async #follow(publication: Publication): Promise<string | undefined> {
    const before = this.#served;
    if (before && isSame(before.publication, publication)) return undefined;
    if (this.#refused === publication.id) return UNSUITABLE;
    const { moves } = await this.#catalog.read();
    let locked: LockedVersion | undefined;
    try {
      locked = await this.#locks.lock(publication.id);
    } catch (error) {
      if (!(error instanceof StorageError && error.code === 'invalid_dataset')) throw error;
      this.#refused = publication.id;
      this.#context.logger.error({ err: error, version: publication.version }, 'the new version is not served');
      return UNSUITABLE;
    }
    // Another process has just deleted this version. The next poll finds a newer version.
    if (!locked) return undefined;
    this.#served = {
      locked,
      publication,
      moves: moves.slice(0, moves.findIndex((move) => isSame(move, publication)) + 1),
    };
    if (before) this.#locks.removeReader(before.locked);
    this.#context.changed();
    return undefined;
  }

  #report(problem: string | undefined, error?: StorageError): void {
    this.#error = error;
    if (problem === this.#problem) return;
    this.#problem = problem;
    const { logger } = this.#context;
    if (error) {
      const what = problem === REJECTED ? 'MongoDB rejects the credentials' : 'MongoDB is unreachable';
      logger.warn({ err: error }, `${what}; retrying`);
    } else if (!problem) logger.info('MongoDB is reachable again');
    this.#context.problem(problem);
  }
}
