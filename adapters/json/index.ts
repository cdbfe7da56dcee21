/** The `json` adapter: serves a dataset directory from memory, and polls the directory for new versions. */
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import {
  type AdapterContext,
  type AdapterModule,
  audit,
  type DataAudit,
  type Dataset,
  DirectoryDataset,
  type DirectoryManifest,
  type History,
  type IndexedDataset,
  indexedSnapshot,
  MANIFEST_FILE,
  type PublishOptions,
  publishing,
  resources,
  type Snapshot,
  type StorageAdapter,
  StorageError,
  version,
} from 'metro-forecast-api/adapter';
import { contentIn, isEmpty, type Loaded, load, stampOf } from './load.js';
import { assertFits, type DatasetSize, sizeOf } from './memory.js';
import { hasDataset, publishInto } from './publish.js';

const { directoryAudit, directoryEntries, replaceDirectoryEntries, sumsOf } = audit;
const { publicationTime, writePublicationTime } = publishing;

const KNOWN_VERSIONS = 1000;
const POLL_MS = 1000;

interface JsonOptions {
  readonly path: string;
  readonly pollMs?: number;
}

interface Current extends IndexedDataset {
  readonly size: DatasetSize;
}

class JsonAdapter implements StorageAdapter {
  readonly audit: DataAudit;
  readonly history: History = {
    read: async () => {
      this.#assertOpen();
      const current = this.#current;
      return {
        moves: current ? [{ version: current.manifest.version, publishedAt: current.publishedAt }] : [],
        audit: await directoryEntries(this.#path),
      };
    },
    clear: async () => {
      this.#assertOpen();
      await rm(join(this.#path, MANIFEST_FILE), { force: true });
      await replaceDirectoryEntries(this.#path, []);
      this.#current = undefined;
      this.#digests.clear();
    },
    write: async ({ moves, audit: entries }) => {
      this.#assertOpen();
      await replaceDirectoryEntries(this.#path, entries);
      const [current, move] = [this.#current, moves.at(-1)];
      if (!current || !move || move.version !== current.manifest.version) return;
      await writePublicationTime(this.#path, move.version, move.publishedAt);
      if (this.#current === current) this.#current = { ...current, publishedAt: move.publishedAt };
    },
  };
  readonly #path: string;
  readonly #pollMs: number;
  readonly #context: AdapterContext;
  readonly #closing = new AbortController();
  readonly #assertOpen = (): void => {
    if (this.#closing.signal.aborted) throw new StorageError('closed', 'The JSON adapter has been closed.');
  };
  #opening: Promise<void> | undefined;
  #timer: NodeJS.Timeout | undefined;
  #current: Current | undefined;
  readonly #digests = new Map<string, string>();
  readonly #pool = new resources.BufferPool();
  #files: readonly string[] = [];
  #stamp: string | undefined;
  #checkedContent: string | undefined;
  #polling: Promise<void> = Promise.resolve();
  #isPolling = false;
  #rejection: string | undefined;
  #publication: Promise<void> | undefined;

  constructor({ path, pollMs = POLL_MS }: JsonOptions, context: AdapterContext) {
    this.#path = context.resolvePath(path);
    this.#pollMs = pollMs;
    this.#context = context;
    const stored = directoryAudit(this.#path, context.logger);
    this.audit = {
      list: async () => {
        this.#assertOpen();
        return stored.list();
      },
      verify: async (expected) => {
        this.#assertOpen();
        return stored.verify(expected);
      },
    };
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
    await this.#publication?.catch(() => {});
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

  async publish(dataset: Dataset, options: PublishOptions = {}): Promise<void> {
    this.#assertOpen();
    if (this.#publication) throw new StorageError('conflict', 'Another publication is in progress.');
    this.#publication = this.#publish(dataset, options);
    try {
      await this.#publication;
    } finally {
      this.#publication = undefined;
    }
  }

  async #publish(dataset: Dataset, options: PublishOptions): Promise<void> {
    try {
      const signal = options.signal ? AbortSignal.any([options.signal, this.#closing.signal]) : this.#closing.signal;
      const damage = (await hasDataset(this.#path)) ? this.#rejection : undefined;
      const assertLoadable = (next: DirectoryManifest) => this.#assertLoadable(next);
      const served = () => this.#current;
      const into = { ...options, signal, assertLoadable, served };
      const written = await publishInto(this.#path, dataset, this.#context, into);
      this.#checkedContent = this.#contentOf(written);
      await this.#poll();
      if (damage !== undefined && this.#rejection === undefined) options.onRepair?.(damage);
    } catch (error) {
      this.#assertOpen();
      throw error;
    }
    if (this.#rejection !== undefined) {
      throw new StorageError('unavailable', `The dataset was written, but could not be loaded. ${this.#rejection}`);
    }
    // If the dataset was invalid, `open()` has rejected.
    this.#startPolling();
  }

  async #assertLoadable(next: DirectoryManifest): Promise<void> {
    const known = this.#digests.get(next.version);
    if (known !== undefined && known !== this.#contentOf(next)) throw versionReused(this.#path, next.version);
    const size = await sizeOf(new DirectoryDataset(this.#path, next), this.#context.collections);
    assertFits(size, this.#current?.size);
  }

  #contentOf(manifest: DirectoryManifest): string {
    return contentIn(this.#context.collections, sumsOf(manifest));
  }

  async #open(): Promise<void> {
    // The stamp is taken before the directory is checked. The first poll then detects a dataset that is created in the
    // meantime.
    this.#stamp = await stampOf(this.#path, []);
    if (await isEmpty(this.#path)) {
      this.#context.logger.warn(
        { path: this.#path },
        'the dataset directory is missing or empty: waiting for a dataset',
      );
      this.#context.problem('There is no dataset yet.');
    } else {
      const refused = await this.#load();
      this.#assertOpen();
      if (refused) {
        this.#rejection = refused.message;
        throw refused;
      }
    }
    this.#assertOpen();
    this.#startPolling();
  }

  #startPolling(): void {
    if (this.#closing.signal.aborted) return;
    this.#timer ??= setInterval(() => {
      if (this.#isPolling) return;
      this.#poll().catch((err) => this.#context.logger.error({ err }, 'the dataset directory could not be checked'));
    }, this.#pollMs).unref();
  }

  #poll(): Promise<void> {
    const poll = this.#polling.then(async () => {
      this.#isPolling = true;
      try {
        const changed = this.#stamp === undefined || this.#stamp !== (await stampOf(this.#path, this.#files));
        const refused = changed && !this.#closing.signal.aborted ? await this.#load() : undefined;
        if (refused && !this.#closing.signal.aborted) this.#report(refused);
      } finally {
        this.#isPolling = false;
      }
    });
    this.#polling = poll.catch(() => {});
    return poll;
  }

  async #load(): Promise<StorageError | undefined> {
    const result = await load(this.#path, {
      collections: this.#context.collections,
      served: this.#current?.size,
      pool: this.#pool,
      checkedContent: this.#checkedContent,
      signal: this.#closing.signal,
    });
    this.#files = result.files;
    this.#stamp = result.stamp;
    if (!result.loaded || this.#closing.signal.aborted) return result.refused;
    const known = this.#digests.get(result.loaded.manifest.version);
    if (known !== undefined && known !== result.loaded.content)
      return versionReused(this.#path, result.loaded.manifest.version);
    this.#accept(result.loaded);
    return undefined;
  }

  #accept({ manifest, publishedAt: stored, collections, content, size }: Loaded): void {
    this.#rejection = undefined;
    this.#context.problem();
    if (this.#current?.manifest.version === manifest.version) return;
    // A copied or edited directory can contain an earlier time than that of the version being served.
    const time = { created: stored.toISOString() };
    const publishedAt = publicationTime(time, this.#current?.publishedAt, this.#context.clock);
    this.#current = { manifest, publishedAt, collections, size };
    this.#digests.set(manifest.version, content);
    if (this.#digests.size > KNOWN_VERSIONS) this.#digests.delete(this.#digests.keys().next().value!);
    this.#context.logger.info({ path: this.#path, version: manifest.version }, 'a dataset has been loaded');
    this.#context.changed();
  }

  #report(refused: StorageError): void {
    if (refused.message === this.#rejection) return;
    this.#rejection = refused.message;
    const version = this.#current?.manifest.version;
    this.#context.logger.error({ err: refused, path: this.#path, serving: version }, 'a dataset was refused');
    this.#context.problem(
      version === undefined
        ? 'The dataset could not be loaded.'
        : `A change to the dataset was refused because it is invalid or incomplete; version ${version} is still served.`,
    );
  }
}

const versionReused = (path: string, version: string): StorageError =>
  new StorageError(
    'conflict',
    `${path} contains version "${version}" with different rows from the version "${version}" that is being served. ` +
      'Change "version" in the manifest.',
  );

const json: AdapterModule<JsonOptions> = {
  kind: 'adapter',
  name: 'json',
  version,
  capabilities: { publish: true, versions: false, durable: true, follows: true, audit: true, json: true, totals: true },
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
        description: 'Interval between two checks for a new version, in milliseconds.',
      },
    },
  },
  create: (options, context) => new JsonAdapter(options, context),
};

export default json;
