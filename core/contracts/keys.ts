/** The key store contract: records of API keys, all of them in memory. */
import type { AuditEntry, AuditVerification } from './audit.js';
import type { JsonSchema } from './json-schema.js';
import type { Clock, Health, Logger } from './runtime.js';

/** A key's record, which has the key's hash and never its text. */
export interface KeyRecord {
  readonly id: string;
  /** SHA-256 of the key, or HMAC-SHA-256 under its pepper, in lower-case hex. */
  readonly hash: string;
  /** The version of the pepper that is mixed into `hash`. Absent: no pepper. */
  readonly pepper?: number;
  readonly name: string;
  readonly tier: string;
  /** Requests per minute; null means the configured default. */
  readonly limit_per_minute: number | null;
  /** RFC 3339, UTC. */
  readonly created_at: string;
  readonly expires_at: string | null;
  readonly revoked_at: string | null;
  /** The id of the key whose limit this one shares: its predecessor's, after a rotation. Absent: its own. */
  readonly shares_limit_of?: string;
}

export type KeyChange = Partial<Pick<KeyRecord, 'name' | 'tier' | 'limit_per_minute' | 'expires_at' | 'revoked_at'>>;

/** The audit's entry for one change of a key. It has neither the key nor its hash, which are secret. */
export interface KeyAuditEntry extends AuditEntry {
  /**
   * `rotate`: made as another key's successor. `change`: of several fields, or of one without an action of its own.
   * `edit` and `remove`: by hand, found by the process that `by` and `host` name; who did it is not known.
   */
  readonly action: 'create' | 'rotate' | 'revoke' | 'limit' | 'tier' | 'expire' | 'change' | 'edit' | 'remove';
  /** The key's id. */
  readonly key: string;
  /** Of a new key, or one whose hash was edited: a digest of its hash, which shows whether that was changed since. */
  readonly fingerprint?: string;
  /** What each changed field was and became. Of a new key: all fields that are not null. */
  readonly changes: Readonly<Record<string, { readonly from: unknown; readonly to: unknown }>>;
}

export interface KeyStore {
  /** Resolves even if the backend is unreachable, provided that it can come back without a restart of the service. */
  open(): Promise<void>;
  close(): Promise<void>;
  /** The record with this `KeyRecord.hash`, from memory. Changes by other processes are seen within 5 seconds. */
  lookup(hash: string): KeyRecord | undefined;
  /** The listener is called after a change of the keys that `lookup` finds. */
  onChange(listener: () => void): void;
  health(): Health;
  list(): Promise<readonly KeyRecord[]>;
  insert(record: KeyRecord): Promise<void>;
  /** Resolves with the changed record; rejects with a `KeyStoreError` if there is no such id. */
  update(id: string, change: KeyChange): Promise<KeyRecord>;
  /**
   * Every change by `insert` and `update`, the oldest first. An entry is written before its change is made, so that
   * every change has one; if the store fails in between, there is an entry of a change that was not made.
   */
  audit?(): Promise<readonly KeyAuditEntry[]>;
  /**
   * Whether the audit is complete and unchanged, and agrees with every key's present record.
   * @param expected the hash of an entry that must be there
   */
  verifyAudit?(expected?: string): Promise<AuditVerification>;
  /**
   * Stores when keys were used last, by id, in milliseconds since 1970; the later time of each wins. All replicas call
   * it every few minutes, so it is no change for `onChange`. It may reject if the store is read-only.
   */
  noteUse?(times: ReadonlyMap<string, number>): Promise<void>;
  /** When keys were used last, by id, in milliseconds since 1970. Keys that were never noted are absent. */
  lastUsed?(): Promise<ReadonlyMap<string, number>>;
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
   * As an adapter's: what is wrong with options that fit the schema, by the option's name.
   */
  check?(options: Options): Readonly<Record<string, string>>;
  create(options: Options, context: KeyStoreContext): KeyStore;
}
