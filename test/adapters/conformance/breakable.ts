/** Adapters with deliberate bugs. The backend of an adapter can also be made unreachable. */

import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { AdapterUnderTest } from '../../../adapters/conformance/index.js';
import json from '../../../adapters/json/index.js';
import memory from '../../../adapters/memory.js';
import database from '../../../adapters/sqlite/index.js';
import type { AdapterContext, Capabilities, Snapshot, StorageAdapter } from '../../../core/contracts/storage.js';
import { MANIFEST_FILE } from '../../../core/data/manifest.js';
import { StorageError } from '../../../core/errors.js';
import type { FolderAdapter } from './folder-adapter.js';
import { createSqlite, type Dialect } from './sqlite-adapter.js';

export type Fault = (adapter: StorageAdapter, context: AdapterContext) => Partial<StorageAdapter>;

const gone = new WeakSet<StorageAdapter>();
const contexts = new WeakMap<StorageAdapter, AdapterContext>();
const folders = new WeakMap<StorageAdapter, string>();

const breakable = (inner: StorageAdapter, { versions }: Capabilities, context: AdapterContext): StorageAdapter => {
  const outer: StorageAdapter = {
    open: () => inner.open(),
    close: () => inner.close(),
    async ping(signal) {
      if (gone.has(outer)) {
        context.problem('The backend is unreachable.');
        throw new StorageError('unavailable', 'The backend is unreachable.');
      }
      await inner.ping(signal);
    },
    snapshot: () => inner.snapshot(),
    publish: (dataset, options) => inner.publish!(dataset, options),
    ...(versions && inner.versions && { versions: inner.versions }),
    ...(inner.audit && { audit: inner.audit }),
    ...(inner.history && { history: inner.history }),
    ...(inner.checkIntegrity && { checkIntegrity: (full) => inner.checkIntegrity!(full) }),
  };
  return outer;
};

export interface Breakage {
  readonly capabilities?: Capabilities;
  readonly fault?: Fault;
  readonly context?: (context: AdapterContext) => AdapterContext;
  /** If set, the tests use the adapter in sqlite-adapter.ts with these buggy parts, instead of the memory adapter. */
  readonly sqlite?: Partial<Dialect>;
  /** If set, this class replaces the memory adapter. */
  readonly folder?: typeof FolderAdapter;
  /** If true, the published SQLite adapter replaces the memory adapter. */
  readonly database?: boolean;
  /** If true, the published json adapter replaces the memory adapter. The suite can damage its files. */
  readonly files?: boolean;
}

const FOLDER: Capabilities = { publish: true, versions: true, durable: true, follows: { withinMs: 500, pollMs: 20 } };

const DATASET = 'dataset';

const innerOf = (
  { sqlite, folder, database: isDatabase, files }: Breakage,
  context: AdapterContext,
): StorageAdapter => {
  if (files) {
    mkdirSync(context.resolvePath(DATASET), { recursive: true });
    return json.create({ path: DATASET, pollMs: 20 }, context);
  }
  if (isDatabase) return database.create({ path: 'data.db', pollMs: 20 }, context);
  if (folder) return new folder(context);
  return sqlite ? createSqlite(context, sqlite) : memory.create({}, context);
};

const capabilitiesOf = ({ capabilities, sqlite, folder, database: isDatabase, files }: Breakage): Capabilities =>
  capabilities ??
  (files ? json.capabilities : undefined) ??
  (isDatabase ? database.capabilities : undefined) ??
  (folder
    ? FOLDER
    : { ...memory.capabilities, ...(sqlite && { durable: true, audit: true, json: false, totals: false }) });

export const targetOf = (name: string, breakage: Breakage = {}): AdapterUnderTest => {
  const { fault, context = (given) => given } = breakage;
  const createEmpty = (given: AdapterContext): StorageAdapter => {
    const changed = context(given);
    const adapter = breakable(innerOf(breakage, changed), capabilitiesOf(breakage), changed);
    contexts.set(adapter, changed);
    folders.set(adapter, given.resolvePath(DATASET));
    return Object.assign(adapter, fault?.({ ...adapter }, given));
  };
  return {
    name,
    capabilities: capabilitiesOf(breakage),
    createEmpty,
    async create(dataset, given) {
      const adapter = createEmpty(given);
      await adapter.open();
      await adapter.publish!(dataset);
      return adapter;
    },
    ...(breakage.files && {
      damage: async (adapter: StorageAdapter) => writeFileSync(join(folders.get(adapter)!, MANIFEST_FILE), '{'),
    }),
    async breakBackend(adapter) {
      gone.add(adapter);
    },
    async repairBackend(adapter) {
      gone.delete(adapter);
      contexts.get(adapter)?.problem();
    },
  };
};

type Change = (snapshot: Snapshot) => Partial<Snapshot>;

/** Changes snapshots from `snapshot()`, but not from `asOf()`. `start` runs once per adapter. */
export const inSnapshots =
  (start: (adapter: StorageAdapter) => Change): Fault =>
  (adapter) => {
    const change = start(adapter);
    return {
      snapshot() {
        const snapshot = adapter.snapshot();
        return { ...snapshot, ...change(snapshot) };
      },
    };
  };

export const inSnapshot = (change: (snapshot: Snapshot, adapter: StorageAdapter) => Partial<Snapshot>): Fault =>
  inSnapshots((adapter) => (snapshot) => change(snapshot, adapter));
