/** Writes a backup of the configured storage and key store. Services can continue to run. */
import { join } from 'node:path';
import type { OpenedStorage } from '../../core/app/open-stores.js';
import type { Collection, Document } from '../../core/contracts/dataset.js';
import type { KeyStore, StoredKeys } from '../../core/contracts/keys.js';
import type { Move, Snapshot, StoredHistory } from '../../core/contracts/storage.js';
import { DECLARATION } from '../../core/data/declarations.js';
import { descriptionOf, MANIFEST_FILE } from '../../core/data/manifest.js';
import { writeDirectory } from '../../core/data/write-directory.js';
import { OperatorError, StorageError } from '../../core/errors.js';
import { packageVersion } from '../../core/util/package.js';
import { sha256Of } from '../../core/util/read-file.js';
import { makeFolder, writeFileAtomic } from '../../core/util/write-atomic.js';
import { BACKUP_FILE, type Backup, digestOf, FILES, snapshotFolder } from './format.js';

interface Sources {
  readonly storage: OpenedStorage;
  readonly keyStore: KeyStore | null;
  readonly config: object;
  readonly declarations: readonly Collection[];
}

interface ExportOptions {
  readonly signal: AbortSignal;
  onRows(version: string, rows: number): void;
  onOmission(sentence: string): void;
}

type Listed = Move & { readonly version: string; readonly current: boolean };

/** Maximum number of reads of the stores. The backup fails if no two consecutive reads return the same state. */
const ATTEMPTS = 5;

const consistent = async <T>(what: string, read: () => Promise<T>, stateOf: (found: T) => unknown): Promise<T> => {
  let before: string | undefined;
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    const found = await read();
    const state = JSON.stringify(stateOf(found));
    if (state === before) return found;
    before = state;
  }
  throw new OperatorError(`${what} change too often at the moment. Try again later.`);
};

export const listVersions = async ({ adapter }: OpenedStorage): Promise<readonly Listed[]> => {
  if (adapter.versions) return (await adapter.versions.list()).toReversed();
  try {
    const snapshot = adapter.snapshot();
    snapshot.release();
    return [{ version: snapshot.version, publishedAt: snapshot.publishedAt, current: true }];
  } catch (error) {
    if (error instanceof StorageError && error.code === 'unavailable') return [];
    throw error;
  }
};

const readHistory = async ({ adapter }: OpenedStorage, versions: readonly Listed[]): Promise<StoredHistory> => {
  if (adapter.history) return adapter.history.read();
  // The current version is assumed to be the last published one, because the adapter stores no history.
  const current = versions.find((each) => each.current);
  const moves = [...versions.filter((each) => !each.current), ...(current ? [current] : [])];
  return { moves, audit: (await adapter.audit?.list()) ?? [] };
};

const open = async ({ adapter }: OpenedStorage, { version, publishedAt }: Listed): Promise<Snapshot> => {
  const snapshot = adapter.versions ? await adapter.versions.asOf(publishedAt) : adapter.snapshot();
  if (snapshot?.version === version) return snapshot;
  snapshot?.release();
  throw new StorageError('unavailable', 'it was deleted or replaced during the export');
};

async function* counting(
  batches: AsyncIterable<readonly Document[]>,
  onRows: (rows: number) => void,
): AsyncGenerator<readonly Document[]> {
  for await (const batch of batches) {
    onRows(batch.length);
    yield batch;
  }
}

const writeVersion = async (
  path: string,
  storage: OpenedStorage,
  listed: Listed,
  { signal, onRows }: ExportOptions,
): Promise<void> => {
  const snapshot = await open(storage, listed);
  try {
    let rows = 0;
    const count = (more: number) => {
      rows += more;
      onRows(listed.version, rows);
    };
    const collections = [...storage.collections.values()].map(({ name, key }) => [
      name,
      counting(snapshot.find(name, { order: key }), count),
    ]);
    await writeDirectory(path, descriptionOf(snapshot.manifest), Object.fromEntries(collections), { signal });
  } finally {
    snapshot.release();
  }
};

function* lines(values: Iterable<unknown>): Generator<string> {
  for (const value of values) yield `${JSON.stringify(value)}\n`;
}

const readKeys = async (keyStore: KeyStore): Promise<StoredKeys> =>
  consistent(
    'The keys',
    async () =>
      keyStore.exportAll
        ? keyStore.exportAll()
        : { records: await keyStore.list(), audit: (await keyStore.audit?.()) ?? [] },
    ({ records, audit }) => [records.length, audit.at(-1)],
  );

export const writeBackup = async (
  directory: string,
  { storage, keyStore, config, declarations }: Sources,
  options: ExportOptions,
): Promise<{ readonly backup: Backup; readonly keys: number }> => {
  const { versions, history } = await consistent(
    'The published versions',
    async () => {
      const listed = await listVersions(storage);
      return { versions: listed, history: await readHistory(storage, listed) };
    },
    ({ versions: listed, history: { moves, audit } }) => [listed, moves, audit.at(-1)],
  );
  const files: Record<string, string> = {};
  const add = async (name: string, content: string | Iterable<string>) => {
    await writeFileAtomic(join(directory, name), content, { mode: 0o600 });
    files[name] = await sha256Of(join(directory, name));
  };
  const saved: Listed[] = [];
  for (const version of versions) {
    const folder = snapshotFolder(saved.length);
    try {
      await writeVersion(join(directory, folder), storage, version, options);
    } catch (error) {
      // A version that cannot be read is skipped, so that the other versions are still backed up.
      if (!(error instanceof StorageError) || error.code === 'aborted') throw error;
      options.onOmission(`Version ${version.version} is not in the backup: ${error.message}`);
      continue;
    }
    files[join(folder, MANIFEST_FILE)] = await sha256Of(join(directory, folder, MANIFEST_FILE));
    saved.push(version);
  }
  const keys = keyStore ? await readKeys(keyStore) : { records: [], audit: [] };
  const used = [...((await keyStore?.lastUsed?.()) ?? [])].map(([id, last]) => ({ id, last_used_at: last }));
  await add(FILES.keys, lines(keys.records));
  await add(FILES.keyAudit, lines(keys.audit));
  await add(FILES.keyUse, lines(used));
  await add(FILES.dataAudit, lines(history.audit));
  if (declarations.length > 0) await makeFolder(join(directory, 'declarations'));
  for (const each of declarations) {
    await add(join('declarations', `${each.name}${DECLARATION}`), `${JSON.stringify(each, null, 2)}\n`);
  }
  await add(FILES.config, `${JSON.stringify(config, null, 2)}\n`);
  const names = new Set(saved.map(({ version }) => version));
  const described = {
    format: 1,
    created: new Date().toISOString(),
    program: packageVersion,
    versions: saved.map(({ version, publishedAt }) => ({ version, published_at: publishedAt.toISOString() })),
    moves: history.moves.map(({ version, publishedAt }) => ({
      version: version !== null && names.has(version) ? version : null,
      published_at: publishedAt.toISOString(),
    })),
    files,
  } as const;
  const backup: Backup = { ...described, digest: digestOf(described) };
  await writeFileAtomic(join(directory, BACKUP_FILE), `${JSON.stringify(backup, null, 2)}\n`, { mode: 0o600 });
  return { backup, keys: keys.records.length };
};
