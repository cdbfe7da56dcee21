/** Publishes an imported table to a database of the `sqlite` adapter. Other tables in the database are kept. */
import { createHash } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { pino } from 'pino';
import type { Collection } from '../core/contracts/dataset.js';
import { systemClock } from '../core/contracts/runtime.js';
import type { Snapshot, StorageAdapter } from '../core/contracts/storage.js';
import { DECLARATION, hasDeclarations, readDeclarations } from '../core/data/declarations.js';
import { openDirectory } from '../core/data/directory.js';
import { OperatorError, StorageError } from '../core/errors.js';
import { loadModule } from '../core/registry/load-module.js';
import { makeFolder, writeFileAtomic } from '../core/util/write-atomic.js';
import { adapters } from '../product.js';
import { toJson } from './output.js';

export const isDatabase = (path: string): boolean => /\.(db|sqlite3?)$/i.test(path);

const openWith = async (database: string, collections: readonly Collection[]): Promise<StorageAdapter> => {
  const module = await loadModule('adapter', 'sqlite', dirname(database), adapters);
  return module.create(
    // A publication waits for the next poll of this process, which renews its transactions.
    { path: database, pollMs: 50 },
    {
      collections: new Map(collections.map((each) => [each.name, each])),
      logger: pino({ level: 'silent' }),
      clock: systemClock,
      resolvePath: (path) => resolve(path),
      changed: () => {},
      problem: () => {},
    },
  );
};

/** @throws OperatorError if the folder declares tables that are not in the database */
const readOthers = async (database: string, others: readonly Collection[]) => {
  const adapter = await openWith(database, others);
  try {
    await adapter.open();
    const isNew = (await adapter.versions!.list()).length === 0;
    if (!isNew || others.length === 0) return { adapter, snapshot: isNew ? undefined : adapter.snapshot() };
    throw new StorageError('invalid_dataset', `${database} has no tables`);
  } catch (cause) {
    await adapter.close();
    if (!(cause instanceof StorageError && cause.code === 'invalid_dataset')) throw cause;
    const names = others.map(({ name }) => name).join(', ');
    throw new OperatorError(
      `${dirname(database)} declares tables that ${database} does not have: ${names}.`,
      ['name a database in a folder without other datasets'],
      { cause },
    );
  }
};

const versionWith = (version: string, others: Snapshot | undefined): string => {
  if (!others) return version;
  const digest = createHash('sha256').update(`${version} ${others.version}`).digest('hex');
  return `${version.slice(0, 10)}-${digest.slice(0, 12)}`;
};

const publishTable = async (
  database: string,
  directory: string,
  collection: Collection,
  onWrite: (rows: number) => void,
): Promise<string> => {
  const folder = dirname(database);
  const declared = hasDeclarations(folder) ? readDeclarations(folder) : [];
  const others = declared.filter(({ name }) => name !== collection.name);
  const { dataset, manifest } = await openDirectory(directory);
  const { adapter, snapshot } = await readOthers(database, others);
  const publisher = await openWith(database, [...others, collection]);
  const { name } = collection;
  const version = versionWith(manifest.version, others.length > 0 ? snapshot : undefined);
  const { format, created, vintage, synthetic } = manifest;
  const sources = snapshot?.manifest.sources ?? [];
  const keyOf = (each: string) => others.find((other) => other.name === each)!.key;
  try {
    await publisher.publish!(
      {
        manifest: { format, version, created, vintage, synthetic, sources },
        read: (each) => (each === name ? dataset.read(name) : snapshot!.find(each, { order: keyOf(each) })),
      },
      { onProgress: (progress) => progress.collection === name && onWrite(progress.written) },
    );
  } catch (error) {
    // A conflict with the current version means that the same rows were already imported.
    const isSame = error instanceof StorageError && error.code === 'conflict' && snapshot?.version === version;
    if (!isSame) throw error;
  } finally {
    await publisher.close();
    await adapter.close();
  }
  await writeFileAtomic(join(folder, name + DECLARATION), `${toJson(collection)}\n`);
  return version;
};

/** If the target is a database, the directory is temporary, and its table is then published to the database. */
interface ImportTarget {
  readonly directory: string;
  readonly folder: string;
  publish(collection: Collection, version: string, onWrite: (rows: number) => void): Promise<string>;
}

export const withTarget = async <T>(to: string, task: (target: ImportTarget) => Promise<T>): Promise<T> => {
  if (!isDatabase(to)) return task({ directory: to, folder: to, publish: async (_, version) => version });
  const database = resolve(to);
  const folder = dirname(database);
  await makeFolder(folder);
  const directory = await mkdtemp(join(folder, '.import-'));
  try {
    return await task({
      directory,
      folder,
      publish: (collection, _, onWrite) => publishTable(database, directory, collection, onWrite),
    });
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
};
