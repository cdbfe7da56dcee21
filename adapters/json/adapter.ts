/** The JSON adapter: serves a dataset directory from memory, and takes over each new version of it. */
import { readdir } from 'node:fs/promises';
import { BoundedMap } from '../../core/bounded-map.js';
import type {
  AdapterContext,
  Dataset,
  PublishOptions,
  Snapshot,
  StorageAdapter,
} from '../../core/contracts/storage.js';
import { StorageError } from '../../core/errors.js';
import { type IndexedDataset, indexedSnapshot } from '../../core/storage/indexed-snapshot.js';
import { publicationTime } from '../../core/storage/publication-time.js';
import { type Loaded, load } from './load.js';
import { type JsonOptions, POLL_MS } from './options.js';
import { publishInto } from './publish.js';
import { stampOf } from './stamp.js';

const REMEMBERED_VERSIONS = 1000;

interface Current extends IndexedDataset {
  readonly fileBytes: number;
}

export class JsonAdapter implements StorageAdapter {
  readonly #path: string;
  readonly #pollMs: number;
  readonly #context: AdapterContext;
  /** Aborted by `close`. */
  readonly #life = new AbortController();
  readonly #assertOpen = (): void => {
    if (this.#life.signal.aborted) throw new StorageError('closed', 'The JSON adapter has been closed.');
  };
  #opening: Promise<void> | undefined;
  #timer: NodeJS.Timeout | undefined;
  #current: Current | undefined;
  /** A digest of the rows of each version that was served lately. */
  readonly #contents = new BoundedMap<string, string>(REMEMBERED_VERSIONS);
  /** What the last load looked at. */
  #files: readonly string[] = [];
  #stamp: string | undefined;
  /** Ends with the look that is under way, if one is. */
  #looking: Promise<void> = Promise.resolve();
  #idle = true;
  /** Why the newest content of the directory is not served. */
  #refusal: string | undefined;
  #publishing = false;

  constructor({ path, pollMs = POLL_MS }: JsonOptions, context: AdapterContext) {
    this.#path = context.resolvePath(path);
    this.#pollMs = pollMs;
    this.#context = context;
  }

  async open(): Promise<void> {
    this.#assertOpen();
    this.#opening ??= this.#open();
    await this.#opening;
  }

  async close(): Promise<void> {
    this.#life.abort();
    clearInterval(this.#timer);
    await this.#opening?.catch(() => {});
    await this.#looking;
    this.#current = undefined;
  }

  async ping(signal?: AbortSignal): Promise<void> {
    this.#assertOpen();
    if (signal?.aborted) throw new StorageError('aborted', 'The caller no longer wants the answer.');
    this.snapshot();
  }

  snapshot(): Snapshot {
    this.#assertOpen();
    if (!this.#current) throw new StorageError('unavailable', `No dataset has been loaded from ${this.#path}.`);
    return indexedSnapshot(this.#current, this.#assertOpen);
  }

  /** Writes the dataset into the directory, where every other process that serves it will notice. */
  async publish(dataset: Dataset, options: PublishOptions = {}): Promise<void> {
    this.#assertOpen();
    if (this.#publishing) throw new StorageError('conflict', 'Another publication is under way.');
    this.#publishing = true;
    try {
      const signal = options.signal ? AbortSignal.any([options.signal, this.#life.signal]) : this.#life.signal;
      await publishInto(this.#path, dataset, this.#context.collections, { ...options, signal });
      await this.#look();
    } catch (error) {
      this.#assertOpen();
      throw error;
    } finally {
      this.#publishing = false;
    }
    if (this.#refusal !== undefined) {
      throw new StorageError('unavailable', `The dataset was written, but could not be loaded. ${this.#refusal}`);
    }
  }

  async #open(): Promise<void> {
    if (await isEmpty(this.#path)) {
      this.#context.logger.warn({ path: this.#path }, 'the dataset directory is empty: waiting for a dataset');
      this.#context.problem('There is no dataset yet.');
    } else {
      const refused = await this.#load();
      this.#assertOpen();
      if (refused) throw refused;
    }
    this.#assertOpen();
    this.#timer = setInterval(() => {
      if (this.#idle) void this.#look();
    }, this.#pollMs).unref();
  }

  /** Takes over what has changed since the last look; after that one, if it is still under way. Never rejects. */
  #look(): Promise<void> {
    this.#looking = this.#looking.then(async () => {
      this.#idle = false;
      const changed = this.#stamp === undefined || this.#stamp !== (await stampOf(this.#path, this.#files));
      const refused = changed && !this.#life.signal.aborted ? await this.#load() : undefined;
      if (refused && !this.#life.signal.aborted) this.#report(refused);
      this.#idle = true;
    });
    return this.#looking;
  }

  /** Answers with the reason where what is there is refused. */
  async #load(): Promise<StorageError | undefined> {
    const heldBytes = this.#current?.fileBytes ?? 0;
    const { collections } = this.#context;
    const result = await load(this.#path, { collections, heldBytes, signal: this.#life.signal });
    this.#files = result.files;
    this.#stamp = result.stamp;
    if (!result.loaded || this.#life.signal.aborted) return result.refused;
    const known = this.#contents.get(result.loaded.manifest.version);
    if (known !== undefined && known !== result.loaded.content) return otherContent(this.#path, result.loaded);
    this.#accept(result.loaded);
    return undefined;
  }

  #accept({ manifest, collections, content, fileBytes }: Loaded): void {
    this.#refusal = undefined;
    this.#context.problem();
    // The same rows again: a file was touched, or a refused version taken back.
    if (this.#current?.manifest.version === manifest.version) return;
    const publishedAt = publicationTime(manifest, this.#current?.publishedAt, this.#context.clock);
    this.#current = { manifest, publishedAt, collections, fileBytes };
    this.#contents.set(manifest.version, content);
    this.#context.logger.info({ path: this.#path, version: manifest.version }, 'a dataset has been loaded');
    this.#context.changed();
  }

  #report(refused: StorageError): void {
    if (refused.message === this.#refusal) return;
    this.#refusal = refused.message;
    const version = this.#current?.manifest.version;
    this.#context.logger.error({ err: refused, path: this.#path, serving: version }, 'a dataset was refused');
    this.#context.problem(
      version === undefined
        ? 'The dataset could not be loaded.'
        : `A change of the dataset was refused, since it is not valid or not whole; version ${version} is still served.`,
    );
  }
}

/** Whether there is a directory for a dataset, and none yet. Where there are other things, the path is wrong. */
const isEmpty = async (path: string): Promise<boolean> =>
  readdir(path).then(
    (names) => names.every((name) => name.startsWith('.')),
    () => false,
  );

const otherContent = (path: string, { manifest }: Loaded): StorageError =>
  new StorageError(
    'conflict',
    `${path} has other rows under version "${manifest.version}" than were served under it: a version names its ` +
      'content, so that the new one needs another version in the manifest.',
  );
