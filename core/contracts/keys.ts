/** The key store contract: records of API keys, all of them at hand in memory. */
import type { JsonSchema } from './json-schema.js';
import type { Clock, Health, Logger } from './runtime.js';

/** A key's record. The key itself is kept nowhere. */
export interface KeyRecord {
  readonly id: string;
  /** SHA-256 of the key, or HMAC-SHA-256 under its pepper, in lower-case hex. */
  readonly hash: string;
  /** The version of that pepper. Absent: there is none. */
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

/** One change of a key, as the audit keeps it: neither the key nor its hash is in it. */
export interface KeyAuditEntry {
  /** RFC 3339, UTC, by the clock of the process that made the change. */
  readonly time: string;
  /** `rotate`: made as another key's successor. `change`: of anything that has no word of its own. */
  readonly action: 'create' | 'rotate' | 'revoke' | 'limit' | 'expire' | 'change';
  /** The key's id. */
  readonly key: string;
  /** The operating system's name of the user who made the change. */
  readonly by: string;
  /** What each changed field was and became. Of a new key: all fields that are not null. */
  readonly changes: Readonly<Record<string, { readonly from: unknown; readonly to: unknown }>>;
}

export interface KeyStore {
  /** Resolves also while the backend is away, if it can come back by itself. */
  open(): Promise<void>;
  close(): Promise<void>;
  /** By `KeyRecord.hash`, from memory. What another process changed is seen here within 5 seconds. */
  lookup(hash: string): KeyRecord | undefined;
  /** Called after `lookup` has begun to answer differently. */
  onChange(listener: () => void): void;
  health(): Health;
  list(): Promise<readonly KeyRecord[]>;
  insert(record: KeyRecord): Promise<void>;
  /** Answers with the changed record; rejects with a `KeyStoreError` when there is no such id. */
  update(id: string, change: KeyChange): Promise<KeyRecord>;
  /**
   * Every change by `insert` and `update`, the oldest first. An entry is kept before its change is made, so that none
   * is ever without: where the store failed between the two, there is one of a change that was not made.
   */
  audit?(): Promise<readonly KeyAuditEntry[]>;
  /**
   * Keeps when keys were used last, by id, in milliseconds since 1970; the later time of each wins. Called every few
   * minutes, and by all replicas: nobody is told of it by `onChange`. It may reject where the store can only be read.
   */
  noteUse?(times: ReadonlyMap<string, number>): Promise<void>;
  /** When keys were used last, as `noteUse` takes it. Keys of which it is not known are left out. */
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
  create(options: Options, context: KeyStoreContext): KeyStore;
}
