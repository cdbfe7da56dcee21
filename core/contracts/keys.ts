/** The contract for key stores. A key store keeps all API key records in memory. */
import type { AuditEntry, AuditVerification } from './audit.js';
import type { JsonSchema } from './json-schema.js';
import type { Clock, Health, Logger } from './runtime.js';

/** The record of an API key. It contains a hash of the key, and never the key itself. */
export interface KeyRecord {
  readonly id: string;
  /** The SHA-256 of the key or, with a pepper, the HMAC-SHA-256, in lower-case hexadecimal. */
  readonly hash: string;
  /** The version of the pepper with which the key was hashed. Not set if the key was hashed without a pepper. */
  readonly pepper?: number;
  readonly name: string;
  readonly tier: string;
  /** The rate limit in requests per minute. Null means the limit of the tier. */
  readonly limit_per_minute: number | null;
  /** The creation time of the key, as RFC 3339 in UTC. */
  readonly created_at: string;
  readonly expires_at: string | null;
  readonly revoked_at: string | null;
  /**
   * The id of the first key in a chain of rotations. All keys in the chain share one rate limit. Not set for keys that
   * were not created by a rotation.
   */
  readonly shares_limit_of?: string;
}

export type KeyChange = Partial<Pick<KeyRecord, 'name' | 'tier' | 'limit_per_minute' | 'expires_at' | 'revoked_at'>>;

/** An audit entry for a change to an API key. It contains neither the key nor its hash, because both are secret. */
export interface KeyAuditEntry extends AuditEntry {
  /**
   * The kind of change:
   * - `rotate`: a new key replaces another one
   * - `change`: several fields changed, or a field that has no action of its own
   * - `edit`, `remove`: the record was changed or removed directly in the store; `by` and `host` identify the process that
   *   detected the change
   */
  readonly action: 'create' | 'rotate' | 'revoke' | 'limit' | 'tier' | 'expire' | 'change' | 'edit' | 'remove';
  readonly key: string;
  /** A digest of the key's hash, which reveals later edits. Set for new keys and for edited hashes. */
  readonly fingerprint?: string;
  /** The old and new value of each changed field. For a new key: all fields that are not null. */
  readonly changes: Readonly<Record<string, { readonly from: unknown; readonly to: unknown }>>;
}

export interface KeyStore {
  /**
   * Opens the key store. Resolves even if the backend is unreachable, provided that the store reconnects automatically.
   */
  open(): Promise<void>;
  close(): Promise<void>;
  /** Finds a key record in memory. Changes made by other processes are visible within 5 seconds. */
  lookup(hash: string): KeyRecord | undefined;
  /** Registers a listener for any change of the keys that `lookup` can find. */
  onChange(listener: () => void): void;
  health(): Health;
  list(): Promise<readonly KeyRecord[]>;
  insert(record: KeyRecord): Promise<void>;
  /** Resolves with the updated key record. Rejects with a `KeyStoreError` if no key has this id. */
  update(id: string, change: KeyChange): Promise<KeyRecord>;
  /**
   * Resolves with the audit entries of all changes made by `insert` and `update`, oldest first. Each entry is written
   * before its change, so no change is missing. After a crash, the last entry can describe a change that was never
   * made.
   */
  audit?(): Promise<readonly KeyAuditEntry[]>;
  /**
   * Checks that no audit entry is missing or modified, and that the entries match the current record of every key.
   * @param expected the hash of an entry that must be present
   */
  verifyAudit?(expected?: string): Promise<AuditVerification>;
  /**
   * Stores when keys were last used. If a later time is already stored, keeps the later time. Every replica calls this
   * method every few minutes. Does not call `onChange` listeners, and can reject if the store is read-only.
   * @param times milliseconds since 1970, by key id
   */
  noteUse?(times: ReadonlyMap<string, number>): Promise<void>;
  /**
   * Resolves with the time when each key was last used, in milliseconds since 1970, by key id. Omits keys that have
   * never been used.
   */
  lastUsed?(): Promise<ReadonlyMap<string, number>>;
  /** Resolves with all content of the key store, for a backup. */
  exportAll?(): Promise<StoredKeys>;
  /** Replaces all content of the key store, including when each key was last used. */
  replaceAll?(content: StoredKeys): Promise<void>;
}

export interface StoredKeys {
  readonly records: readonly KeyRecord[];
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
  /** Finds errors in the options of a key store that their schema cannot detect. See `check` in `AdapterModule`. */
  check?(options: Options): Readonly<Record<string, string>>;
  create(options: Options, context: KeyStoreContext): KeyStore;
}
