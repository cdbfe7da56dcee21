import type { KeyRecord } from '../../core/contracts/keys.js';
import { newKey as makeKey } from '../../core/keys/key.js';

const MADE = Date.parse('2026-01-01T00:00:00Z');

export const newKey = (change: Partial<KeyRecord> = {}): { key: string; record: KeyRecord } => {
  const { key, record } = makeKey({ name: 'test', tier: 'enterprise' }, MADE);
  return { key, record: { ...record, ...change } };
};

export const newRecord = (change: Partial<KeyRecord> = {}): KeyRecord => newKey(change).record;
