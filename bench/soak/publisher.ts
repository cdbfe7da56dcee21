import { setTimeout as delay } from 'node:timers/promises';
import { pino } from 'pino';
import { openStorage } from '../../core/app/open-stores.js';
import type { Document } from '../../core/contracts/dataset.js';
import type { Dataset } from '../../core/contracts/storage.js';
import { type OpenedDirectory, openDirectory } from '../../core/data/directory.js';
import { loadConfig, loadModules } from '../../product.js';

const KEPT_VERSIONS = 3;

/** Adds 1 to each value if `number` is odd, so that each publication changes the responses. */
const versionOf = ({ manifest, dataset }: OpenedDirectory, number: number): Dataset => {
  const change = (row: Document): Document =>
    'value' in row ? { ...row, value: Number(row['value']) + (number % 2) } : row;
  const created = new Date(Date.parse(manifest.created) + number * 1000).toISOString();
  return {
    manifest: { ...manifest, version: `soak-${number}`, created },
    async *read(collection) {
      for await (const rows of dataset.read(collection)) yield rows.map(change);
    },
  };
};

export interface Publisher {
  readonly published: number;
  publish(): Promise<void>;
  repeat(seconds: number, isDone: () => boolean): Promise<void>;
  close(): Promise<void>;
}

export const openPublisher = async (config: string, directory: string): Promise<Publisher> => {
  const loaded = await loadConfig({ path: config, env: process.env });
  const storage = await openStorage({ config: loaded, modules: await loadModules(loaded) }, pino({ level: 'silent' }));
  const source = await openDirectory(directory);
  let published = 0;
  const publish = async (): Promise<void> => {
    await storage.adapter.publish!(versionOf(source, published + 1));
    published++;
    await storage.adapter.versions?.prune(KEPT_VERSIONS);
  };
  return {
    get published() {
      return published;
    },
    publish,
    async repeat(seconds, isDone) {
      for (; !isDone(); await delay(seconds * 1000)) await publish();
    },
    close: () => storage.close(),
  };
};
