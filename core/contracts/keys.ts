/** The contract for key stores. A key store keeps all key records in memory. */
import type { AuditEntry, AuditVerification } from './audit.js';
import type { JsonSchema } from './json-schema.js';
import type { Clock, Health, Logger } from './runtime.js';

/** The record of an API key. It contains a hash of the key, and never the key itself. */
export interface KeyRecord {
  readonly id: string;
  /** The SHA-256 of the key or, with a pepper, the HMAC-SHA-256, in lower-case hexadecimal. */
  readonly hash: string;
  /** The version of the pepper in `hash`. Not set if there was no pepper. */
  readonly pepper?: number;
  readonly name: string;
  readonly tier: string;
  /** Requests per minute. Null means the configured default. */
  readonly limit_per_minute: number | null;
  /** RFC 3339 in UTC. */
  readonly created_at: string;
  readonly expires_at: string | null;
  readonly revoked_at: string | null;
  /** Set by a rotation: the id of the first key in the chain of rotations, whose limit this key shares. */
  readonly shares_limit_of?: string;
}

export type KeyChange = Partial<Pick<KeyRecord, 'name' | 'tier' | 'limit_per_minute' | 'expires_at' | 'revoked_at'>>;

/** An audit entry for a change to a key. It contains neither the key nor its hash, because both are secret. */
export interface KeyAuditEntry extends AuditEntry {
  /**
   * `rotate` creates a key that replaces another one. `change` covers several fields at once, or a field without a
   * specific action. `edit` and `remove` are changes made directly in the store. For these, `by` and `host` identify
   * the process that noticed the change.
   */
  readonly action: 'create' | 'rotate' | 'revoke' | 'limit' | 'tier' | 'expire' | 'change' | 'edit' | 'remove';
  readonly key: string;
  /** For a new key or an edited hash: a digest of the hash, which reveals later edits. */
  readonly fingerprint?: string;
  /** The old and new value of each changed field. For a new key: all fields that are not null. */
  readonly changes: Readonly<Record<string, { readonly from: unknown; readonly to: unknown }>>;
}

export interface KeyStore {
  /**
   * Resolves even if the backend is unreachable, provided that the store can reconnect without a restart of the
   * service.
   */
  open(): Promise<void>;
  close(): Promise<void>;
  /** Finds a record in memory. Changes made by other processes are visible within 5 seconds. */
  lookup(hash: string): KeyRecord | undefined;
  /** The listener is called whenever the keys available to `lookup` change. */
  onChange(listener: () => void): void;
  health(): Health;
  list(): Promise<readonly KeyRecord[]>;
  insert(record: KeyRecord): Promise<void>;
  /** Resolves with the updated record. Rejects with a `KeyStoreError` if no key has this id. */
  update(id: string, change: KeyChange): Promise<KeyRecord>;
  /**
   * Resolves with all changes made by `insert` and `update`, oldest first. Each entry is written before the change that
   * it describes, so that no change is missing. If the store fails in between, the list contains a change that was
   * never made.
   */
  audit?(): Promise<readonly KeyAuditEntry[]>;
  /**
   * Checks that no entry is missing or modified, and that the entries match the current record of every key.
   * @param expected the hash of an entry that must be present
   */
  verifyAudit?(expected?: string): Promise<AuditVerification>;
  /**
   * Stores when keys were last used: times in milliseconds since 1970, by key id. A later time that is already stored
   * is kept. Every replica calls this every few minutes. Does not call `onChange` listeners, and can reject if the
   * store is read-only.
   */
  noteUse?(times: ReadonlyMap<string, number>): Promise<void>;
  /**
   * Resolves with the time when each key was last used, in milliseconds since 1970, by key id. Keys that have never
   * been used are omitted.
   */
  lastUsed?(): Promise<ReadonlyMap<string, number>>;
  /** Resolves with everything that a backup of the store needs. */
  exportAll?(): Promise<StoredKeys>;
  /** Replaces all content of the store, including the times of last use. */
  replaceAll?(content: StoredKeys): Promise<void>;
}

export interface StoredKeys {
  readonly records: readonly KeyRecord[];
  /** All audit entries, oldest first, including entries for changes that were never made. */
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
  /** Finds errors in options that their schema cannot detect, like `check` in `AdapterModule`. */
  check?(options: Options): Readonly<Record<string, string>>;
  create(options: Options, context: KeyStoreContext): KeyStore;
}
