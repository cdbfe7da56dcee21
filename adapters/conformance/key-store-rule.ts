import { type KeyRecord, type KeyStore, KeyStoreError, newKey } from 'metro-forecast-api/adapter';

const NOW = Date.parse('2026-01-01T00:00:00Z');

export interface KeyStoreRun {
  readonly store: KeyStore;
  /** Creates another key store with the same context. */
  create(): KeyStore;
  /** Creates and opens another key store with the same context. */
  open(): Promise<KeyStore>;
}

export interface KeyStoreRule {
  readonly title: string;
  /** What the rule requires: a durable key store, or a key store with these optional methods. */
  readonly needs?: readonly ('durable' | 'noteUse' | 'audit' | 'verifyAudit' | 'exportAll' | 'replaceAll')[];
  run(given: KeyStoreRun): Promise<void>;
}

export const recordOf = (change: Partial<KeyRecord> = {}): KeyRecord => ({
  ...newKey({ name: 'test', tier: 'enterprise' }, NOW).record,
  ...change,
});

export const sorted = (records: readonly KeyRecord[]): KeyRecord[] =>
  records.toSorted((a, b) => (a.id < b.id ? -1 : 1));

export const codeOf = (work: Promise<unknown>): Promise<unknown> =>
  work.then(
    () => 'no error',
    (error: unknown) => (error instanceof KeyStoreError ? error.code : error),
  );
