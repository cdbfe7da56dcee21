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
   * `rotate`: created as the successor of another key. `change`: of several fields, or of one without its own action.
   * `edit` and `remove`: made directly in the store; `by` and `host` name the process that found the change.
   */
  readonly action: 'create' | 'rotate' | 'revoke' | 'limit' | 'tier' | 'expire' | 'change' | 'edit' | 'remove';
  /** The id of the key. */
  readonly key: string;
  /** For a new key, or one whose hash was edited: a digest of its hash, which shows later edits. */
  readonly fingerprint?: string;
  /** The previous and the new value of each changed field. For a new key: all fields that are not null. */
  readonly changes: Readonly<Record<string, { readonly from: unknown; readonly to: unknown }>>;
}

export interface KeyStore {
  /** Resolves even if the backend is unreachable, if the store can reconnect without a restart of the service. */
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
   * Every change by `insert` and `update`, oldest first. An entry is written before its change, so that every change
   * has one. If the store fails in between, the entry describes a change that was not made.
   */
  audit?(): Promise<readonly KeyAuditEntry[]>;
  /**
   * Checks that the audit is complete and unchanged, and agrees with the current record of every key.
   * @param expected the hash of an entry that must be present
   */
  verifyAudit?(expected?: string): Promise<AuditVerification>;
  /**
   * Stores when keys were last used: milliseconds since 1970 by key id. The later time of each key is kept. All
   * replicas call it every few minutes. It does not call the listeners of `onChange`. It may reject if the store is
   * read-only.
   */
  noteUse?(times: ReadonlyMap<string, number>): Promise<void>;
  /** When keys were last used: milliseconds since 1970 by key id. Unused keys are absent. */
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
   * Checks options for errors that their schema cannot express. Returns messages by option name, like
   * `AdapterModule.check`.
   */
  check?(options: Options): Readonly<Record<string, string>>;
  create(options: Options, context: KeyStoreContext): KeyStore;
}
