import type { KeyChange, KeyRecord, KeyStore, KeyStoreModule } from '../contracts/keys.js';
import type { Health } from '../contracts/runtime.js';
import { indexByHash, withChanged, withInserted } from './key-table.js';

export class MemoryKeyStore implements KeyStore {
  readonly #listeners: (() => void)[] = [];
  #records: readonly KeyRecord[] = [];
  #byHash = indexByHash([]);

  async open(): Promise<void> {}

  async close(): Promise<void> {}

  lookup(hash: string): KeyRecord | undefined {
    return this.#byHash.get(hash);
  }

  onChange(listener: () => void): void {
    this.#listeners.push(listener);
  }

  health(): Health {
    return { ok: true, message: null };
  }

  async list(): Promise<readonly KeyRecord[]> {
    return this.#records;
  }

  async insert(record: KeyRecord): Promise<void> {
    this.#replace(withInserted(this.#records, record));
  }

  async update(id: string, change: KeyChange): Promise<KeyRecord> {
    const { records, changed } = withChanged(this.#records, id, change);
    this.#replace(records);
    return changed;
  }

  #replace(records: readonly KeyRecord[]): void {
    this.#records = records;
    this.#byHash = indexByHash(records);
    for (const listener of this.#listeners) listener();
  }
}

export const memoryKeyStore: KeyStoreModule = {
  kind: 'key-store',
  name: 'memory',
  options: { type: 'object', additionalProperties: false },
  create: () => new MemoryKeyStore(),
};
