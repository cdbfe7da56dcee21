/**
 * The `./adapter` entry point, for storage adapters, key stores, limiters, caches, and programs that write datasets.
 * The built-in adapters import only from this file.
 */

import { BufferPool } from './core/data/buffer-pool.js';
import { workerCount } from './core/util/is-worker.js';
import { memoryLimit } from './core/util/memory-limit.js';

export * as audit from './core/audit/index.js';
export type { AuditEntry, AuditVerification, DataAudit, DataAuditEntry } from './core/contracts/audit.js';
export type { Cached, SharedCache } from './core/contracts/cache.js';
export type { Collection, Document, Manifest } from './core/contracts/dataset.js';
export type { JsonSchema } from './core/contracts/json-schema.js';
export type {
  KeyAuditEntry,
  KeyChange,
  KeyRecord,
  KeyStore,
  KeyStoreContext,
  KeyStoreModule,
  StoredKeys,
} from './core/contracts/keys.js';
export type { DayUsage, Decision, Limiter, QuotaState, Quotas } from './core/contracts/limiter.js';
export type { Clock, Health, Logger } from './core/contracts/runtime.js';
export type {
  AdapterContext,
  AdapterModule,
  Capabilities,
  Condition,
  Dataset,
  Following,
  Group,
  History,
  JsonRows,
  PublishOptions,
  Query,
  Scalar,
  Snapshot,
  StorageAdapter,
  StoredHistory,
  StoreLimits,
  TotalsQuery,
  Versions,
} from './core/contracts/storage.js';
export type { BufferPool } from './core/data/buffer-pool.js';
export { filterColumns } from './core/data/conditions.js';
export { DirectoryDataset, openDirectory } from './core/data/directory.js';
export { type CollectionSize, IndexedCollection } from './core/data/indexed-collection.js';
export { type IndexedDataset, indexedSnapshot } from './core/data/indexed-snapshot.js';
export { type DirectoryManifest, MANIFEST_FILE } from './core/data/manifest.js';
export { jsonRows } from './core/data/packed-documents.js';
export * as positions from './core/data/positions.js';
export * as publishing from './core/data/publishing.js';
export { compareBy, compareScalars } from './core/data/scalars.js';
export { type CsvRecord, CsvSplitter } from './core/data/table/csv.js';
export { checkDataset, DatasetCheck } from './core/data/validate.js';
export { wordsOf } from './core/data/words.js';
export { writeDirectory } from './core/data/write-directory.js';
export type { Batches } from './core/data/write-rows.js';
export {
  KeyStoreError,
  LimiterUnavailable,
  OperatorError,
  StorageError,
  type StorageErrorCode,
} from './core/errors.js';
export { newKey } from './core/keys/key.js';
export { BackgroundPacing } from './core/util/event-loop.js';
export * as files from './core/util/files.js';
export { packageVersion as version } from './core/util/package.js';

/** The memory limit is in bytes and is shared by all worker processes. */
export const resources = { memoryLimit, workerCount, BufferPool } as const;
