import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { OpenedStorage } from '../../core/app/open-stores.js';
import { chain, endOf, madeOnly } from '../../core/audit/chain.js';
import { dataAuditEntry, isDataAuditEntry } from '../../core/audit/data-audit.js';
import { isKeyAuditEntry } from '../../core/audit/key-audit.js';
import type { DataAuditEntry } from '../../core/contracts/audit.js';
import type { KeyRecord, KeyStore, StoredKeys } from '../../core/contracts/keys.js';
import type { StorageAdapter } from '../../core/contracts/storage.js';
import { differingCollection } from '../../core/data/differing-collection.js';
import { openDirectory } from '../../core/data/directory.js';
import { MANIFEST_FILE, readManifest } from '../../core/data/manifest.js';
import { OperatorError } from '../../core/errors.js';
import { isKeyRecord } from '../../core/keys/key-file.js';
import { counted } from '../../core/util/counted.js';
import { fileErrorReason } from '../../core/util/error-reason.js';
import { readRegular, sha256Of } from '../../core/util/read-file.js';
import { type Backup, FILES, readBackup, snapshotFolder } from './format.js';
import { listVersions } from './write-backup.js';

const damaged = (path: string, reason: string): OperatorError =>
  new OperatorError(`The backup is damaged: ${path} ${reason}. Nothing was restored.`);

const assertDigest = async (path: string, expected: string | undefined): Promise<void> => {
  const found = await sha256Of(path).catch((error: unknown) => {
    throw damaged(path, `cannot be read (${fileErrorReason(error)})`);
  });
  if (found !== expected) throw damaged(path, 'was changed or cut off');
};

/** @throws OperatorError if the backup is incomplete or damaged */
export const verifiedBackup = async (directory: string, onFile: (checked: number) => void): Promise<Backup> => {
  const backup = await readBackup(directory);
  let checked = 0;
  const check = async (path: string, sha256: string | undefined) => {
    await assertDigest(path, sha256);
    onFile(++checked);
  };
  for (const [name, sha256] of Object.entries(backup.files)) await check(join(directory, name), sha256);
  for (const name of Object.values(FILES)) {
    if (backup.files[name] === undefined) throw damaged(join(directory, name), 'is missing');
  }
  for (const [i, { version }] of backup.versions.entries()) {
    const folder = join(directory, snapshotFolder(i));
    const manifest = await readManifest(folder);
    if (manifest.version !== version) throw damaged(folder, 'contains a different version');
    for (const { file, sha256 } of Object.values(manifest.collections)) await check(join(folder, file), sha256);
  }
  return backup;
};

const MAX_BYTES = 384 * 2 ** 20;

const readLines = async <T>(path: string, isValid: (value: unknown) => value is T): Promise<readonly T[]> =>
  (await readRegular(path, MAX_BYTES))
    .split('\n')
    .filter((line) => line !== '')
    .map((line, i) => {
      const value: unknown = JSON.parse(line);
      if (!isValid(value)) throw damaged(path, `has an invalid line ${i + 1}`);
      return value;
    });

const isUse = (value: unknown): value is { readonly id: string; readonly last_used_at: number } =>
  typeof (value as { last_used_at?: unknown }).last_used_at === 'number';

export interface Targets {
  readonly storage: OpenedStorage;
  readonly keyStore: KeyStore | null;
}

const contentOf = async ({ storage, keyStore }: Targets): Promise<readonly string[]> => {
  const { adapter, directory } = storage;
  const versions = (await listVersions(storage)).length;
  const entries = (await adapter.history?.read())?.audit.length ?? 0;
  const hasManifest = directory !== undefined && existsSync(join(directory, MANIFEST_FILE));
  const keys = (await keyStore?.list())?.length ?? 0;
  const keyEntries = (await keyStore?.exportAll?.())?.audit.length ?? 0;
  return [
    ...(versions > 0 ? [counted(versions, 'version')] : hasManifest ? ['a dataset that cannot be served'] : []),
    ...(keys > 0 ? [counted(keys, 'key')] : []),
    ...(entries + keyEntries > 0 ? [`an audit log with ${entries + keyEntries} entries`] : []),
  ];
};

/**
 * Appends a deletion for each published version that the backup lacks. Some adapters store only the current version, so
 * their backups lack the earlier ones.
 */
const withDeletions = (entries: readonly DataAuditEntry[], stored: ReadonlySet<string>): readonly DataAuditEntry[] => {
  const last = new Map<string, DataAuditEntry['action']>();
  for (const { action, version } of madeOnly(entries)) if (action !== 'activate') last.set(version, action);
  const extended = [...entries];
  for (const [version, action] of last) {
    if (action !== 'publish' || stored.has(version)) continue;
    extended.push(chain(dataAuditEntry({ action: 'prune', version }, Date.now()), endOf(extended)));
  }
  return extended;
};

interface RestoreOptions {
  /** If true, the content of the stores is deleted first. Otherwise, the stores must be empty. */
  readonly replace: boolean;
  readonly signal: AbortSignal;
  onRows(version: string, rows: number): void;
  onNote(sentence: string): void;
}

const publishVersion = async (
  folder: string,
  { adapter, collections }: OpenedStorage,
  { signal, onRows }: RestoreOptions,
): Promise<void> => {
  const { dataset, manifest } = await openDirectory(folder);
  let before = 0;
  let latest = '';
  let rows = 0;
  await adapter.publish!(dataset, {
    signal,
    onProgress({ collection, written }) {
      if (collection !== latest) before = rows;
      latest = collection;
      rows = before + written;
      onRows(manifest.version, rows);
    },
  });
  const snapshot = adapter.snapshot();
  try {
    const { version } = manifest;
    if (snapshot.version !== version) {
      throw new OperatorError(`Another process published ${snapshot.version} after ${version} was restored.`);
    }
    const differs = await differingCollection(dataset, snapshot, collections);
    if (differs !== undefined)
      throw new OperatorError(`Version ${version} was restored with different rows in "${differs}".`);
  } finally {
    snapshot.release();
  }
};

/** Adapters without `history` cannot restore the publication times. */
const finish = async (adapter: StorageAdapter, backup: Backup, audit: readonly DataAuditEntry[]): Promise<boolean> => {
  const moves = backup.moves.map(({ version, published_at }) => ({ version, publishedAt: new Date(published_at) }));
  const current = moves.findLastIndex(({ version }) => version !== null);
  const versions = backup.versions.map(({ version, published_at }) => ({
    version,
    publishedAt: new Date(published_at),
  }));
  if (adapter.history) {
    await adapter.history.write({ versions, moves: moves.slice(0, current + 1), audit });
    return true;
  }
  const version = moves[current]?.version;
  if (version && version !== versions.at(-1)?.version) await adapter.versions?.activate(version);
  return false;
};

const restoreStorage = async (
  directory: string,
  backup: Backup,
  storage: OpenedStorage,
  options: RestoreOptions,
): Promise<number> => {
  const { adapter, module } = storage;
  const entries = await readLines(join(directory, FILES.dataAudit), isDataAuditEntry);
  if (options.replace) await adapter.history?.clear();
  const current = backup.moves.findLast(({ version }) => version !== null)?.version;
  let restored = 0;
  for (const [i, { version }] of backup.versions.entries()) {
    if (!adapter.versions && version !== current) continue;
    await publishVersion(join(directory, snapshotFolder(i)), storage, options);
    restored++;
  }
  if (restored < backup.versions.length) {
    options.onNote(`The adapter "${module.name}" stores only the current version: ${current}.`);
  }
  const stored = new Set(backup.versions.map(({ version }) => version));
  const audit = adapter.versions ? withDeletions(entries, stored) : entries;
  if (!(await finish(adapter, backup, audit))) {
    options.onNote(`The adapter "${module.name}" cannot restore the audit log and the publication times.`);
  }
  return restored;
};

const restoreKeys = async (
  keyStore: KeyStore,
  content: StoredKeys,
  used: ReadonlyMap<string, number>,
  { onNote }: RestoreOptions,
): Promise<void> => {
  if (keyStore.replaceAll) await keyStore.replaceAll(content);
  else {
    for (const record of content.records) await keyStore.insert(record);
    onNote('The key store cannot restore its audit log.');
  }
  if (used.size > 0) await keyStore.noteUse?.(used);
};

/** @throws OperatorError if a store is not empty or cannot be written to */
const assertRestorable = async (targets: Targets, keys: number, { replace }: RestoreOptions): Promise<void> => {
  const { storage, keyStore } = targets;
  const { adapter, module } = storage;
  if (!adapter.publish || module.capabilities.durable === false) {
    throw new OperatorError(`The adapter "${module.name}" of this configuration cannot store a backup.`);
  }
  if (!keyStore && keys > 0) {
    throw new OperatorError(
      'The configuration stores keys in memory only, but the backup contains keys: set auth.keys.',
    );
  }
  const content = await contentOf(targets);
  if (content.length === 0) return;
  if (!replace) {
    throw new OperatorError(`The stores of this configuration are not empty: they contain ${content.join(', ')}.`, [
      'nothing was restored; use other stores, or delete this content first with --replace',
    ]);
  }
  if (adapter.history && (!keyStore || keyStore.replaceAll)) return;
  throw new OperatorError('The stores of this configuration cannot be emptied: use other stores.');
};

interface Restored {
  readonly versions: number;
  readonly keys: readonly KeyRecord[];
}

export const restoreBackup = async (
  directory: string,
  backup: Backup,
  targets: Targets,
  options: RestoreOptions,
): Promise<Restored> => {
  const records = await readLines(join(directory, FILES.keys), isKeyRecord);
  const audit = await readLines(join(directory, FILES.keyAudit), isKeyAuditEntry);
  const used = await readLines(join(directory, FILES.keyUse), isUse);
  await assertRestorable(targets, records.length, options);
  const { storage, keyStore } = targets;
  const versions = await restoreStorage(directory, backup, storage, options);
  if (keyStore) {
    const times = new Map(used.map(({ id, last_used_at }) => [id, last_used_at]));
    await restoreKeys(keyStore, { records, audit }, times, options);
  }
  for (const [what, verified] of [
    ['data', await storage.adapter.audit?.verify()],
    ['keys', await keyStore?.verifyAudit?.()],
  ] as const) {
    if (verified && verified.faults.length > 0)
      options.onNote(`The audit log of ${what} could not be verified: ${verified.faults.join('; ')}.`);
  }
  return { versions, keys: records };
};
