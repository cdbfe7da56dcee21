/** The key store contract: records of API keys, all of them at hand in memory. */
import type { JsonSchema } from './json-schema.js';
import type { Clock, Health, Logger } from './runtime.js';

/** A key's record. The key itself is kept nowhere. */
export interface KeyRecord {
  readonly id: string;
  /** SHA-256 of the key, in lower-case hex. */
  readonly hash: string;
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

export interface KeyStore {
  /** Resolves also while the backend is away, if it can come back by itself. */
  open(): Promise<void>;
  close(): Promise<void>;
  /** By SHA-256, from memory. What another process changed is seen here within 5 seconds. */
  lookup(hash: string): KeyRecord | undefined;
  /** Called after `lookup` has begun to answer differently. */
  onChange(listener: () => void): void;
  health(): Health;
  list(): Promise<readonly KeyRecord[]>;
  insert(record: KeyRecord): Promise<void>;
  /** Answers with the changed record; rejects with a `KeyStoreError` when there is no such id. */
  update(id: string, change: KeyChange): Promise<KeyRecord>;
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
