/** Implements the whole storage contract in about 200 lines. You can copy this file as the start of a new adapter. */
import {
  type AdapterContext,
  type AdapterModule,
  checkDataset,
  type Dataset,
  IndexedCollection,
  type IndexedDataset,
  indexedSnapshot,
  openDirectory,
  type PublishOptions,
  publishing,
  type Snapshot,
  type StorageAdapter,
  StorageError,
  type Versions,
  version,
} from 'metro-forecast-api/adapter';

const { assertNotAborted, momentAfter, nothingPublished, publicationTime, readable, unknownVersion, versionTaken } =
  publishing;

interface MemoryOptions {
  readonly path?: string;
}

/** A published dataset. `holds` is the number of its open snapshots. */
interface Stored extends IndexedDataset {
  holds: number;
}

interface Activation {
  readonly activatedAt: Date;
  /** Undefined if the version has been deleted. */
  stored: Stored | undefined;
}

class MemoryAdapter implements StorageAdapter {
  readonly #path: string | undefined;
  readonly #context: AdapterContext;
  #opening: Promise<void> | undefined;
  #closed = false;
  #publishing = false;
  readonly #stored = new Map<string, Stored>();
  /** The activations of versions, oldest first. The last activation determines the current version. */
  readonly #activations: Activation[] = [];

  constructor({ path }: MemoryOptions, context: AdapterContext) {
    this.#path = path;
    this.#context = context;
  }

  async open(): Promise<void> {
    this.#assertUsable();
    this.#opening ??= this.#publishDirectory().catch((error: unknown) => {
      this.#opening = undefined;
      throw error;
    });
    await this.#opening;
  }

  async close(): Promise<void> {
    this.#closed = true;
  }

  async ping(signal?: AbortSignal): Promise<void> {
    this.#assertUsable();
    if (signal?.aborted) throw new StorageError('aborted', 'The caller has aborted the read.');
  }

  snapshot(): Snapshot {
    this.#assertUsable();
    const current = this.#activations.at(-1);
    if (!current) throw nothingPublished();
    return this.#hold(current)!;
  }

  async publish(dataset: Dataset, { onProgress, signal }: PublishOptions = {}): Promise<void> {
    const { manifest } = dataset;
    const { version } = manifest;
    this.#assertPublishing(signal);
    if (this.#publishing) throw new StorageError('conflict', 'Another publication is in progress.');
    const known = this.#stored.get(version);
    if (known) throw versionTaken(version, known.publishedAt);
    this.#publishing = true;
    try {
      const collections = new Map<string, IndexedCollection>();
      for (const collection of this.#context.collections.values()) {
        const indexed = new IndexedCollection(collection);
        for await (const batch of readable(() => dataset.read(collection.name))) {
          this.#assertPublishing(signal);
          indexed.addDocuments(batch);
          onProgress?.({ collection: collection.name, written: indexed.length, total: undefined });
        }
        await indexed.sort();
        collections.set(collection.name, indexed);
      }
      this.#assertPublishing(signal);
      const publishedAt = publicationTime(manifest, this.#activations.at(-1)?.activatedAt, this.#context.clock);
      const stored = { manifest: structuredClone(manifest), publishedAt, collections, holds: 0 };
      this.#stored.set(version, stored);
      this.#activate({ activatedAt: publishedAt, stored });
    } finally {
      this.#publishing = false;
    }
  }

  readonly versions: Versions = {
    list: async () => {
      this.#assertUsable();
      const current = this.#activations.at(-1)?.stored;
      return [...this.#stored].reverse().map(([version, stored]) => ({
        version,
        publishedAt: stored.publishedAt,
        current: stored === current,
        held: stored.holds > 0,
      }));
    },
    activate: async (version) => {
      this.#assertUsable();
      const stored = this.#stored.get(version);
      if (!stored) throw unknownVersion(version, [...this.#stored.keys()]);
      const last = this.#activations.at(-1)!;
      if (last.stored !== stored)
        this.#activate({ activatedAt: momentAfter(last.activatedAt, this.#context.clock), stored });
    },
    prune: async (keep) => {
      this.#assertUsable();
      const current = this.#activations.at(-1)?.stored;
      const older = [...this.#stored].slice(0, Math.max(0, this.#stored.size - keep));
      const unused = older.filter(([, stored]) => stored !== current && stored.holds === 0);
      for (const [version, stored] of unused) {
        this.#stored.delete(version);
        for (const activation of this.#activations) if (activation.stored === stored) activation.stored = undefined;
      }
      return unused.map(([version]) => version);
    },
    asOf: async (time) => {
      this.#assertUsable();
      const activation = this.#activations.findLast(({ activatedAt }) => activatedAt <= time);
      return activation && this.#hold(activation);
    },
  };

  async #publishDirectory(): Promise<void> {
    if (this.#path === undefined) return;
    const { path, dataset } = await openDirectory(this.#context.resolvePath(this.#path));
    const errors = await checkDataset(dataset, this.#context.collections);
    if (errors.total > 0) {
      throw new StorageError('invalid_dataset', [`${path} is not valid:`, ...errors.lines()].join('\n  - '));
    }
    await this.publish(dataset);
  }

  #activate(activation: Activation): void {
    this.#activations.push(activation);
    this.#context.changed();
  }

  #assertUsable(): void {
    if (this.#closed) throw new StorageError('closed', 'The adapter has been closed.');
  }

  #assertPublishing(signal: AbortSignal | undefined): void {
    this.#assertUsable();
    assertNotAborted(signal);
  }

  #hold({ activatedAt, stored }: Activation): Snapshot | undefined {
    if (!stored) return undefined;
    stored.holds++;
    let released = false;
    return {
      ...indexedSnapshot({ ...stored, publishedAt: activatedAt }, () => this.#assertUsable()),
      release: () => {
        if (!released) stored.holds--;
        released = true;
      },
    };
  }
}

const memory: AdapterModule<MemoryOptions> = {
  kind: 'adapter',
  name: 'memory',
  version,
  capabilities: { publish: true, versions: true, durable: false, json: true, totals: true },
  options: {
    type: 'object',
    additionalProperties: false,
    properties: {
      path: {
        type: 'string',
        minLength: 1,
        description: 'A dataset directory that is published when the service starts.',
      },
    },
  },
  create: (options, context) => new MemoryAdapter(options, context),
};

export default memory;
