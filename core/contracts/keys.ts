/** The key store contract. A key store keeps the records of all API keys in memory. */
import type { AuditEntry, AuditVerification } from './audit.js';
import type { JsonSchema } from './json-schema.js';
import type { Clock, Health, Logger } from './runtime.js';

/** The record of a key. It contains the hash of the key but never its text. */
export interface KeyRecord {
  readonly id: string;
  /** The SHA-256 of the key, or its HMAC-SHA-256 with the pepper, in lower-case hex. */
  readonly hash: string;
  /** The version of the pepper that was used for `hash`. Absent if none was used. */
  readonly pepper?: number;
  readonly name: string;
  readonly tier: string;
  /** Requests per minute. Null means the configured default. */
  readonly limit_per_minute: number | null;
  /** RFC 3339, in UTC. */
  readonly created_at: string;
  readonly expires_at: string | null;
  readonly revoked_at: string | null;
  /**
   * The id of the key whose limit this key shares: its predecessor, after a rotation. Absent if it has its own limit.
   */
  readonly shares_limit_of?: string;
}

export type KeyChange = Partial<Pick<KeyRecord, 'name' | 'tier' | 'limit_per_minute' | 'expires_at' | 'revoked_at'>>;

/** The audit entry for one change to a key. It contains neither the key nor its hash, because both are secret. */
export interface KeyAuditEntry extends AuditEntry {
  /**
   * `rotate` creates the key as the successor of another one. `change` covers changes to several fields, or to a field
   * without its own action. `edit` and `remove` were made directly in the store, and `by` and `host` name the process
   * that noticed them.
   */
  readonly action: 'create' | 'rotate' | 'revoke' | 'limit' | 'tier' | 'expire' | 'change' | 'edit' | 'remove';
  /** The id of the key that was changed. */
  readonly key: string;
  /** For a new key or an edited hash: a digest of the hash, which reveals later edits. */
  readonly fingerprint?: string;
  /** The previous and the new value of each changed field. For a new key, all fields that are not null. */
  readonly changes: Readonly<Record<string, { readonly from: unknown; readonly to: unknown }>>;
}

export interface KeyStore {
  /** Resolves even if the backend is unreachable, provided that the store can reconnect without a service restart. */
  open(): Promise<void>;
  close(): Promise<void>;
  /** Finds the record with this `hash` in memory. Changes made by other processes become visible within 5 seconds. */
  lookup(hash: string): KeyRecord | undefined;
  /** Registers a listener that is called whenever the keys that `lookup` finds have changed. */
  onChange(listener: () => void): void;
  health(): Health;
  list(): Promise<readonly KeyRecord[]>;
  insert(record: KeyRecord): Promise<void>;
  /** Resolves with the changed record. Rejects with a `KeyStoreError` if no key has this id. */
  update(id: string, change: KeyChange): Promise<KeyRecord>;
  /**
   * All changes made by `insert` and `update`, oldest first. An entry is written before its change, so that no change
   * lacks one. If the store fails in between, the entry describes a change that was never made.
   */
  audit?(): Promise<readonly KeyAuditEntry[]>;
  /**
   * Checks that the audit is complete and unchanged, and that it matches the current record of every key.
   * @param expected the hash of an entry that must be present
   */
  verifyAudit?(expected?: string): Promise<AuditVerification>;
  /**
   * Stores when keys were last used, as milliseconds since 1970 by key id. For each key, the later time is kept. Every
   * replica calls this every few minutes. It does not trigger the listeners of `onChange`. It may reject if the store
   * is read-only.
   */
  noteUse?(times: ReadonlyMap<string, number>): Promise<void>;
  /** Resolves with when keys were last used, as milliseconds since 1970 by key id. Keys never used are absent. */
  lastUsed?(): Promise<ReadonlyMap<string, number>>;
  /** Resolves with the content of the store, for a backup. */
  exportAll?(): Promise<StoredKeys>;
  /** Replaces the whole content of the store, including when keys were last used. */
  replaceAll?(content: StoredKeys): Promise<void>;
}

export interface StoredKeys {
  readonly records: readonly KeyRecord[];
  /** All entries of the audit, oldest first, including entries for changes that were not made. */
  readonly audit: readonly KeyAuditEntry[];
}

export interface KeyStoreContext {
  readonly logger: Logger;
  readonly clock: Clock;
  resolvePath(path: string): string;
}

export interface KeyStoreModule<Options = unknown> {
  readonly kind: 'key-store';
  readonly name: string;
  readonly options: JsonSchema;
  /**
   * Checks options for errors that their schema cannot express. Returns messages by option name, like `check` in
   * `AdapterModule`.
   */
  check?(options: Options): Readonly<Record<string, string>>;
  create(options: Options, context: KeyStoreContext): KeyStore;
}
