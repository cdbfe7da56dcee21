/** The `json` adapter: serves a dataset directory from memory, and polls it for each new version. */
import { readdir } from 'node:fs/promises';
import type { DataAudit } from '../../core/contracts/audit.js';
import type {
  AdapterContext,
  AdapterModule,
  Dataset,
  PublishOptions,
  Snapshot,
  StorageAdapter,
} from '../../core/contracts/storage.js';
import { type IndexedDataset, indexedSnapshot } from '../../core/data/indexed-collection.js';
import { publicationTime } from '../../core/data/publishing.js';
import { StorageError } from '../../core/errors.js';
import { LruMap } from '../../core/util/lru-map.js';
import { packageVersion } from '../../core/util/package.js';
import { directoryAudit } from './data-audit.js';
import { type Loaded, load, stampOf } from './load.js';
import { hasDataset, publishInto } from './publish.js';

const KNOWN_VERSIONS = 1000;
const POLL_MS = 1000;

interface JsonOptions {
  readonly path: string;
  readonly pollMs?: number;
}

interface Current extends IndexedDataset {
  readonly fileBytes: number;
}

class JsonAdapter implements StorageAdapter {
  readonly audit: DataAudit;
  readonly #path: string;
  readonly #pollMs: number;
  readonly #context: AdapterContext;
  /** Aborted by `close`. */
  readonly #closing = new AbortController();
  readonly #assertOpen = (): void => {
    if (this.#closing.signal.aborted) throw new StorageError('closed', 'The JSON adapter has been closed.');
  };
  #opening: Promise<void> | undefined;
  #timer: NodeJS.Timeout | undefined;
  #current: Current | undefined;
  /** A digest of the rows of each version that was served recently. */
  readonly #digests = new LruMap<string, string>(KNOWN_VERSIONS);
  /** The names of the files that the last load read; `#stamp` is what their metadata was then. */
  #files: readonly string[] = [];
  #stamp: string | undefined;
  /** The poll that is under way; resolved if there is none. */
  #polling: Promise<void> = Promise.resolve();
  #isPolling = false;
  /** Why the newest content of the directory is not served. */
  #refusalMessage: string | undefined;
  #publishing = false;

  constructor({ path, pollMs = POLL_MS }: JsonOptions, context: AdapterContext) {
    this.#path = context.resolvePath(path);
    this.#pollMs = pollMs;
    this.#context = context;
    this.audit = directoryAudit(this.#path, context.logger);
  }

  async open(): Promise<void> {
    this.#assertOpen();
    this.#opening ??= this.#open();
    await this.#opening;
  }

  async close(): Promise<void> {
    this.#closing.abort();
    clearInterval(this.#timer);
    await this.#opening?.catch(() => {});
    await this.#polling;
    this.#current = undefined;
  }

  async ping(signal?: AbortSignal): Promise<void> {
    this.#assertOpen();
    if (signal?.aborted) throw new StorageError('aborted', 'The caller has aborted the read.');
    this.snapshot();
  }

  snapshot(): Snapshot {
    this.#assertOpen();
    if (!this.#current) throw new StorageError('unavailable', `No dataset has been loaded from ${this.#path}.`);
    return indexedSnapshot(this.#current, this.#assertOpen);
  }

  /** Writes the dataset into the directory, where every process that serves it notices. */
  async publish(dataset: Dataset, options: PublishOptions = {}): Promise<void> {
    this.#assertOpen();
    if (this.#publishing) throw new StorageError('conflict', 'Another publication is under way.');
    this.#publishing = true;
    try {
      const signal = options.signal ? AbortSignal.any([options.signal, this.#closing.signal]) : this.#closing.signal;
      const damage = (await hasDataset(this.#path)) ? this.#refusalMessage : undefined;
      await publishInto(this.#path, dataset, this.#context, { ...options, signal });
      await this.#poll();
      if (damage !== undefined && this.#refusalMessage === undefined) options.onRepair?.(damage);
    } catch (error) {
      this.#assertOpen();
      throw error;
    } finally {
      this.#publishing = false;
    }
    if (this.#refusalMessage !== undefined) {
      throw new StorageError(
        'unavailable',
        `The dataset was written, but could not be loaded. ${this.#refusalMessage}`,
      );
    }
  }

  async #open(): Promise<void> {
    if (await isEmpty(this.#path)) {
      this.#context.logger.warn({ path: this.#path }, 'the dataset directory is empty: waiting for a dataset');
      this.#context.problem('There is no dataset yet.');
    } else {
      const refused = await this.#load();
      this.#assertOpen();
      if (refused) {
        this.#refusalMessage = refused.message;
        throw refused;
      }
    }
    this.#assertOpen();
    this.#timer = setInterval(() => {
      if (!this.#isPolling) void this.#poll();
    }, this.#pollMs).unref();
  }

  /**
   * Loads the directory again if it has changed. One poll runs at a time: the next waits for it. Never rejects, since a
   * dataset that is refused is reported.
   */
  #poll(): Promise<void> {
    this.#polling = this.#polling.then(async () => {
      this.#isPolling = true;
      const changed = this.#stamp === undefined || this.#stamp !== (await stampOf(this.#path, this.#files));
      const refused = changed && !this.#closing.signal.aborted ? await this.#load() : undefined;
      if (refused && !this.#closing.signal.aborted) this.#report(refused);
      this.#isPolling = false;
    });
    return this.#polling;
  }

  /** Returns the reason if the content of the directory is refused. */
  async #load(): Promise<StorageError | undefined> {
    const heldBytes = this.#current?.fileBytes ?? 0;
    const { collections } = this.#context;
    const result = await load(this.#path, { collections, heldBytes, signal: this.#closing.signal });
    this.#files = result.files;
    this.#stamp = result.stamp;
    if (!result.loaded || this.#closing.signal.aborted) return result.refused;
    const known = this.#digests.get(result.loaded.manifest.version);
    if (known !== undefined && known !== result.loaded.content) return versionReused(this.#path, result.loaded);
    this.#accept(result.loaded);
    return undefined;
  }

  #accept({ manifest, collections, content, fileBytes }: Loaded): void {
    this.#refusalMessage = undefined;
    this.#context.problem();
    // This version is served already: a file was only touched, or the operator put the served version back.
    if (this.#current?.manifest.version === manifest.version) return;
    const publishedAt = publicationTime(manifest, this.#current?.publishedAt, this.#context.clock);
    this.#current = { manifest, publishedAt, collections, fileBytes };
    this.#digests.set(manifest.version, content);
    this.#context.logger.info({ path: this.#path, version: manifest.version }, 'a dataset has been loaded');
    this.#context.changed();
  }

  #report(refused: StorageError): void {
    if (refused.message === this.#refusalMessage) return;
    this.#refusalMessage = refused.message;
    const version = this.#current?.manifest.version;
    this.#context.logger.error({ err: refused, path: this.#path, serving: version }, 'a dataset was refused');
    this.#context.problem(
      version === undefined
        ? 'The dataset could not be loaded.'
        : `A change of the dataset was refused, since it is not valid or not whole; version ${version} is still served.`,
    );
  }
}

/** Whether the directory exists and is empty. With other files in it the path is probably wrong. */
const isEmpty = async (path: string): Promise<boolean> =>
  readdir(path).then(
    (names) => names.every((name) => name.startsWith('.')),
    () => false,
  );

const versionReused = (path: string, { manifest }: Loaded): StorageError =>
  new StorageError(
    'conflict',
    `${path} has other rows under version "${manifest.version}" than were served under it: a version names its ` +
      'content, so that the new one needs another version in the manifest.',
  );

const json: AdapterModule<JsonOptions> = {
  kind: 'adapter',
  name: 'json',
  version: packageVersion,
  capabilities: { publish: true, versions: false, durable: true, follows: true, audit: true },
  options: {
    type: 'object',
    required: ['path'],
    additionalProperties: false,
    properties: {
      path: { type: 'string', minLength: 1, description: 'The dataset directory.' },
      pollMs: {
        type: 'integer',
        minimum: 10,
        default: POLL_MS,
        description: 'How often to look for another version. In milliseconds.',
      },
    },
  },
  create: (options, context) => new JsonAdapter(options, context),
};

export default json;
