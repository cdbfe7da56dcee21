import { mkdtemp, readdir, readlink, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { collections, itemsOf, rowsWithCrowd } from '../../adapters/conformance/fixture.js';
import sqlite from '../../adapters/sqlite/index.js';
import type { Collection } from '../../core/contracts/dataset.js';
import { type Clock, systemClock } from '../../core/contracts/runtime.js';
import type { AdapterContext, StorageAdapter } from '../../core/contracts/storage.js';

export const contextIn = (
  folder: string,
  declared: ReadonlyMap<string, Collection> = collections,
  problem: AdapterContext['problem'] = () => {},
): AdapterContext => ({
  collections: declared,
  logger: pino({ level: 'silent' }),
  clock: systemClock,
  resolvePath: (path) => join(folder, path),
  changed: () => {},
  problem,
});

/** Returns how many times this process has opened the file. */
export const openFiles = async (path: string): Promise<number> => {
  const targets = (await readdir('/proc/self/fd')).map((fd) => readlink(`/proc/self/fd/${fd}`).catch(() => ''));
  return (await Promise.all(targets)).filter((target) => target === path).length;
};

export const rowsToPublish = (version: string) => ({ ...rowsWithCrowd(), items: itemsOf(version) });

type Publishing = StorageAdapter & Required<Pick<StorageAdapter, 'publish' | 'versions' | 'audit'>>;

export class SqliteStore {
  readonly problems: (string | undefined)[] = [];
  readonly #adapters: StorageAdapter[] = [];

  private constructor(readonly folder: string) {}

  static async create(): Promise<SqliteStore> {
    return new SqliteStore(await mkdtemp(join(tmpdir(), 'sqlite-adapter-')));
  }

  get path(): string {
    return join(this.folder, 'data.db');
  }

  adapter(
    declared?: ReadonlyMap<string, Collection>,
    path = 'data.db',
    { pollMs = 20, clock = systemClock }: { readonly pollMs?: number; readonly clock?: Clock } = {},
  ): Publishing {
    const context = contextIn(this.folder, declared, (sentence) => this.problems.push(sentence));
    const adapter = sqlite.create({ path, pollMs }, { ...context, clock }) as Publishing;
    this.#adapters.push(adapter);
    return adapter;
  }

  async opened(declared?: ReadonlyMap<string, Collection>): Promise<Publishing> {
    const adapter = this.adapter(declared);
    await adapter.open();
    return adapter;
  }

  async remove(): Promise<void> {
    for (const adapter of this.#adapters) await adapter.close();
    await rm(this.folder, { recursive: true, force: true });
  }
}
