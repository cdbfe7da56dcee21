/** Publishes the sample repeatedly with changed figures, in another process than the server. */
import { setTimeout as delay } from 'node:timers/promises';
import { pino } from 'pino';
import { type OpenedStorage, openStorage } from '../../core/app/open-stores.js';
import type { Document } from '../../core/contracts/dataset.js';
import type { Dataset } from '../../core/contracts/storage.js';
import { type OpenedDirectory, openDirectory } from '../../core/data/directory.js';
import { loadConfig, loadModules } from '../../product.js';

/** Earlier versions to keep, for requests with `as_of`. */
const KEPT = 3;

/** Figures of odd versions are larger by one, so that each publication changes the bodies. */
const versionOf = ({ manifest, dataset }: OpenedDirectory, number: number): Dataset => {
  const changed = (row: Document): Document =>
    'value' in row ? { ...row, value: Number(row['value']) + (number % 2) } : row;
  return {
    manifest: {
      ...manifest,
      version: `soak-${number}`,
      created: new Date(Date.parse(manifest.created) + number * 1000).toISOString(),
    },
    async *read(collection) {
      for await (const rows of dataset.read(collection)) yield rows.map(changed);
    },
  };
};

export class Publisher {
  #published = 0;
  #going = true;
  #ended: Promise<void> = Promise.resolve();
  readonly #storage: OpenedStorage;
  readonly #source: OpenedDirectory;

  private constructor(storage: OpenedStorage, source: OpenedDirectory) {
    this.#storage = storage;
    this.#source = source;
  }

  /** @param directory of the dataset to change and publish */
  static async open(config: string, directory: string): Promise<Publisher> {
    const loaded = await loadConfig({ path: config, env: process.env });
    const modules = await loadModules(loaded);
    const storage = await openStorage({ config: loaded, modules }, pino({ level: 'silent' }));
    return new Publisher(storage, await openDirectory(directory));
  }

  get published(): number {
    return this.#published;
  }

  async publish(): Promise<void> {
    const { adapter } = this.#storage;
    await adapter.publish!(versionOf(this.#source, this.#published + 1));
    this.#published++;
    await adapter.versions?.prune(KEPT);
  }

  /** Publishes at an interval in seconds until `close`. Rejects with the first error. */
  run(everySeconds: number): Promise<void> {
    this.#ended = (async () => {
      while (this.#going) {
        await delay(everySeconds * 1000);
        if (this.#going) await this.publish();
      }
    })();
    return this.#ended;
  }

  async close(): Promise<void> {
    this.#going = false;
    await this.#ended.catch(() => undefined);
    await this.#storage.close();
  }
}
