/** Keys for tests, with records as a store keeps them. */
import type { KeyRecord } from '../../core/contracts/keys.js';
import { createKey } from '../../core/keys/key-format.js';

export const newKey = (change: Partial<KeyRecord> = {}): { key: string; record: KeyRecord } => {
  const { key, hash, id } = createKey();
  return {
    key,
    record: {
      id,
      hash,
      name: 'test',
      tier: 'enterprise',
      limit_per_minute: null,
      created_at: '2026-01-01T00:00:00Z',
      expires_at: null,
      revoked_at: null,
      ...change,
    },
  };
};

export const newRecord = (change: Partial<KeyRecord> = {}): KeyRecord => newKey(change).record;
