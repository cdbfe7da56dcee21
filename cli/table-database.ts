/** Publishes an imported table to a database of the `sqlite` adapter. Other tables in the database are kept. */
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { pino } from 'pino';
import type { SqliteAdapter } from '../adapters/sqlite/index.js';
import type { Collection } from '../core/contracts/dataset.js';
import { systemClock } from '../core/contracts/runtime.js';
import type { Snapshot } from '../core/contracts/storage.js';
import { DECLARATION, hasDeclarations, readDeclarations } from '../core/data/declarations.js';
import { contentVersion } from '../core/data/manifest.js';
import type { KeyedTable, TableTarget, WrittenTable } from '../core/data/table/write-table.js';
import { OperatorError, StorageError } from '../core/errors.js';
import { loadModule } from '../core/registry/load-module.js';
import { linkTarget, makeFolder, writeFileAtomic } from '../core/util/write-atomic.js';
import { adapters } from '../product.js';
import { toJson } from './output.js';

export const isDatabase = (path: string): boolean => /\.(db|sqlite3?)$/i.test(path);

const openWith = async (database: string, collections: readonly Collection[]): Promise<SqliteAdapter> => {
  const module = await loadModule('adapter', 'sqlite', dirname(database), adapters);
  const adapter = module.create(
    // Publishing waits until the next poll renews the transactions of this process, so the poll interval is short.
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
  return adapter as SqliteAdapter;
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

const removeDatabase = async (path: string): Promise<void> => {
  for (const suffix of ['', '-wal', '-shm', '-journal']) await rm(path + suffix, { force: true });
};

/**
 * Imports the table, and writes its declaration next to the database. On failure, deletes a database that it created.
 */
export const writeToDatabase = async (
  database: string,
  { name, rows, collection }: KeyedTable,
  { folder, created, check, onWrite, signal }: TableTarget,
): Promise<WrittenTable> => {
  await makeFolder(folder);
  const declared = hasDeclarations(folder) ? readDeclarations(folder) : [];
  const others = declared.filter((each) => each.name !== name);
  const { adapter, snapshot } = await readOthers(database, others);
  // An open adapter has a read transaction, which would delay publishing by seconds. If no other table has to be read,
  // the adapter is closed now.
  if (others.length === 0) await adapter.close();
  // The new table comes first. If its rows are unsorted, the import restarts before other tables have been copied.
  const publisher = await openWith(database, [collection(), ...others]);
  const keyOf = (each: string) => others.find((other) => other.name === each)!.key;
  const time = created.toISOString();
  const vintage = time.slice(0, 10);
  let version = '';
  const isNew = !existsSync(database);
  try {
    await publisher.import(
      {
        manifest: { format: 1, created: time, vintage, synthetic: false, sources: snapshot?.manifest.sources ?? [] },
        written: (each, fields) => (each === name ? rows(fields) : undefined),
        read: (each) => snapshot!.find(each, { order: keyOf(each) }),
        version: async (sha256) => {
          await check(collection());
          const ofTable = contentVersion({ vintage, sources: [] }, { [name]: sha256[name]! });
          version = versionWith(ofTable, others.length > 0 ? snapshot : undefined);
          return version;
        },
      },
      {
        ...(signal && { signal }),
        onProgress: (progress) => progress.collection === name && onWrite(progress.written),
      },
    );
  } catch (error) {
    // A conflict with the current version means that the same rows were already imported.
    const isSame = error instanceof StorageError && error.code === 'conflict' && snapshot?.version === version;
    if (!isSame) throw error;
  } finally {
    await publisher.close();
    await adapter.close();
  }
  try {
    await writeFileAtomic(join(folder, name + DECLARATION), `${toJson(collection())}\n`);
  } catch (error) {
    if (isNew) await removeDatabase(await linkTarget(database));
    throw error;
  }
  return { version, collection: collection() };
};
