/** A correct key store in memory. Stores with the same folder share their keys. */
import { auditEntry } from '../../../core/audit/key-audit.js';
import type { AuditVerification } from '../../../core/contracts/audit.js';
import type {
  KeyAuditEntry,
  KeyChange,
  KeyRecord,
  KeyStore,
  KeyStoreContext,
  StoredKeys,
} from '../../../core/contracts/keys.js';
import type { Health } from '../../../core/contracts/runtime.js';
import { withChanged, withInserted } from '../../../core/keys/key-table.js';

export interface Backend {
  records: readonly KeyRecord[];
  audit: readonly KeyAuditEntry[];
  readonly used: Map<string, number>;
}

const backends = new Map<string, Backend>();

export class SharedKeyStore implements KeyStore {
  readonly backend: Backend;
  listeners: (() => void)[] = [];
  #known: readonly KeyRecord[] = [];
  #timer: NodeJS.Timeout | undefined;

  constructor(readonly context: KeyStoreContext) {
    const folder = context.resolvePath('.');
    this.backend = backends.get(folder) ?? { records: [], audit: [], used: new Map() };
    backends.set(folder, this.backend);
  }

  async open(): Promise<void> {
    this.refresh();
    this.#timer = setInterval(() => this.refresh(), 20).unref();
  }

  async close(): Promise<void> {
    clearInterval(this.#timer);
  }

  get known(): readonly KeyRecord[] {
    return this.#known;
  }

  refresh(): void {
    if (this.#known === this.backend.records) return;
    this.#known = this.backend.records;
    for (const listener of this.listeners) listener();
  }

  lookup(hash: string): KeyRecord | undefined {
    return this.known.find((record) => record.hash === hash);
  }

  onChange(listener: () => void): void {
    this.listeners.push(listener);
  }

  health(): Health {
    return { ok: true, message: null };
  }

  async list(): Promise<readonly KeyRecord[]> {
    this.refresh();
    return this.#known;
  }

  async insert(record: KeyRecord): Promise<void> {
    this.save(withInserted(this.backend.records, record), undefined, record);
  }

  async update(id: string, change: KeyChange): Promise<KeyRecord> {
    const { records } = this.backend;
    const { records: saved, changed } = withChanged(records, id, change);
    this.save(
      saved,
      records.find((record) => record.id === id),
      changed,
    );
    return changed;
  }

  save(records: readonly KeyRecord[], before: KeyRecord | undefined, after: KeyRecord): void {
    const entry = auditEntry(before, after, this.context.clock.now());
    if (entry) this.backend.audit = [...this.backend.audit, { ...entry, hash: String(this.backend.audit.length) }];
    this.backend.records = records;
    this.refresh();
  }

  async audit(): Promise<readonly KeyAuditEntry[]> {
    return this.backend.audit;
  }

  async verifyAudit(expected?: string): Promise<AuditVerification> {
    const { audit } = this.backend;
    const isMissing = expected !== undefined && !audit.some(({ hash }) => hash === expected);
    const faults = isMissing ? ['The expected entry is missing.'] : [];
    return { chained: audit.length, head: audit.at(-1)?.hash ?? null, notes: [], faults };
  }

  async noteUse(times: ReadonlyMap<string, number>): Promise<void> {
    const { used } = this.backend;
    for (const [id, time] of times) used.set(id, Math.max(time, used.get(id) ?? 0));
  }

  async lastUsed(): Promise<ReadonlyMap<string, number>> {
    return new Map(this.backend.used);
  }

  async exportAll(): Promise<StoredKeys> {
    return { records: this.backend.records, audit: this.backend.audit };
  }

  async replaceAll({ records, audit }: StoredKeys): Promise<void> {
    Object.assign(this.backend, { records, audit });
    this.backend.used.clear();
    this.refresh();
  }
}
