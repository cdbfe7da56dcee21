import type {
  KeyAuditEntry,
  KeyChange,
  KeyRecord,
  KeyStore,
  KeyStoreContext,
  StoredKeys,
} from '../../../core/contracts/keys.js';
import { MemoryKeyStore } from '../../../core/keys/memory-key-store.js';
import { SharedKeyStore } from './shared-key-store.js';

type Class = new (context: KeyStoreContext) => KeyStore;

/** Key stores with one bug each. `rule` is the start of the title of the rule that must find the bug. */
export const brokenKeyStores: readonly (readonly [that: string, rule: string, Store: Class])[] = [
  [
    'drops unknown fields',
    'insert() stores every field',
    class extends MemoryKeyStore {
      override insert({ shares_limit_of: _, ...record }: KeyRecord) {
        return super.insert(record);
      }
    },
  ],
  [
    'resolves insert() too early',
    'insert() stores every field',
    class extends MemoryKeyStore {
      override async insert(record: KeyRecord) {
        setTimeout(() => void super.insert(record).catch(() => undefined), 5);
      }
    },
  ],
  [
    'replaces the record at an update',
    'update() changes the given fields',
    class extends MemoryKeyStore {
      override async update(id: string, change: KeyChange) {
        return { ...(await super.update(id, change)), limit_per_minute: null };
      }
    },
  ],
  [
    'accepts a hash twice',
    'insert() rejects an existing id',
    class extends MemoryKeyStore {
      override insert(record: KeyRecord) {
        return super.insert(record).catch(() => undefined);
      }
    },
  ],
  [
    'ignores unknown ids',
    'update() rejects an unknown id',
    class extends MemoryKeyStore {
      override update(id: string, change: KeyChange) {
        return super.update(id, change).catch(() => ({}) as KeyRecord);
      }
    },
  ],
  [
    'keeps only the last listener',
    'onChange() calls every listener',
    class extends MemoryKeyStore {
      #last: () => void = () => undefined;
      constructor() {
        super();
        super.onChange(() => this.#last());
      }
      override onChange(listener: () => void) {
        this.#last = listener;
      }
    },
  ],
  [
    'reports a problem',
    'a new store is healthy',
    class extends MemoryKeyStore {
      override health() {
        return { ok: false, message: 'starting' };
      }
    },
  ],
  ['claims to be durable', 'a store that is opened later', class extends MemoryKeyStore {}],
  [
    'finds a key by the start of its hash',
    'lookup() compares whole hashes',
    class extends SharedKeyStore {
      override lookup(hash: string) {
        return this.known.find((record) => record.hash.startsWith(hash.slice(0, 40)));
      }
    },
  ],
  [
    'hides expired keys',
    'insert() stores every field',
    class extends SharedKeyStore {
      override lookup(hash: string) {
        const found = super.lookup(hash);
        return found?.expires_at && Date.parse(found.expires_at) < this.context.clock.now() ? undefined : found;
      }
    },
  ],
  [
    'hides revoked keys',
    'update() changes the given fields',
    class extends SharedKeyStore {
      override lookup(hash: string) {
        const found = super.lookup(hash);
        return found?.revoked_at ? undefined : found;
      }
    },
  ],
  [
    'trims names',
    'insert() stores every field',
    class extends SharedKeyStore {
      override insert(record: KeyRecord) {
        return super.insert({ ...record, name: record.name.trim() });
      }
    },
  ],
  [
    'cuts names after 255 characters',
    'insert() stores every field',
    class extends SharedKeyStore {
      override insert(record: KeyRecord) {
        return super.insert({ ...record, name: record.name.slice(0, 255) });
      }
    },
  ],
  [
    'normalizes names',
    'insert() stores every field',
    class extends SharedKeyStore {
      override insert(record: KeyRecord) {
        return super.insert({ ...record, name: record.name.normalize('NFC') });
      }
    },
  ],
  [
    'rewrites times with milliseconds',
    'insert() stores every field',
    class extends SharedKeyStore {
      override insert(record: KeyRecord) {
        return super.insert({ ...record, created_at: new Date(record.created_at).toISOString() });
      }
    },
  ],
  [
    'stores times without milliseconds',
    'insert() stores every field',
    class extends SharedKeyStore {
      override insert(record: KeyRecord) {
        return super.insert({ ...record, created_at: record.created_at.replace(/\.\d+Z$/, 'Z') });
      }
    },
  ],
  [
    'stores limits as 32-bit integers',
    'insert() stores every field',
    class extends SharedKeyStore {
      override insert(record: KeyRecord) {
        return super.insert({
          ...record,
          limit_per_minute: record.limit_per_minute === null ? null : record.limit_per_minute | 0,
        });
      }
    },
  ],
  [
    'ignores null in a change',
    'update() can clear a field',
    class extends SharedKeyStore {
      override update(id: string, change: KeyChange) {
        return super.update(id, Object.fromEntries(Object.entries(change).filter(([, value]) => value !== null)));
      }
    },
  ],
  [
    'keeps keys revoked',
    'update() can clear a field',
    class extends SharedKeyStore {
      override update(id: string, change: KeyChange) {
        const { revoked_at, ...others } = change;
        return super.update(id, revoked_at === null ? others : change);
      }
    },
  ],
  [
    'rejects changes of revoked keys',
    'update() can clear a field',
    class extends SharedKeyStore {
      override update(id: string, change: KeyChange) {
        const isRevoked = this.backend.records.some((record) => record.id === id && record.revoked_at !== null);
        return super.update(isRevoked ? 'none' : id, change);
      }
    },
  ],
  [
    'loses fields of rotated keys at an update',
    'update() changes the given fields',
    class extends SharedKeyStore {
      override save(records: readonly KeyRecord[], before: KeyRecord | undefined, after: KeyRecord) {
        const { shares_limit_of: _, pepper: __, ...kept } = after;
        super.save(before ? records.map((record) => (record === after ? kept : record)) : records, before, after);
      }
    },
  ],
  [
    'lists only keys that are not revoked',
    'update() changes the given fields',
    class extends SharedKeyStore {
      override async list() {
        return (await super.list()).filter(({ revoked_at }) => revoked_at === null);
      }
    },
  ],
  [
    'lists at most 25 keys',
    'no change is lost',
    class extends SharedKeyStore {
      override async list() {
        return (await super.list()).slice(0, 25);
      }
    },
  ],
  [
    'modifies listed records',
    'records that were returned earlier',
    class extends SharedKeyStore {
      readonly #listed = new Map<string, KeyRecord>();
      override async list() {
        const records = (await super.list()).map((record) => ({ ...record }));
        for (const record of records) this.#listed.set(record.id, record);
        return records;
      }
      override async update(id: string, change: KeyChange) {
        const changed = await super.update(id, change);
        Object.assign(this.#listed.get(id) ?? {}, change);
        return changed;
      }
    },
  ],
  [
    'modifies the result of an update',
    'records that were returned earlier',
    class extends SharedKeyStore {
      readonly #returned = new Map<string, KeyRecord>();
      override async update(id: string, change: KeyChange) {
        const changed = { ...(await super.update(id, change)) };
        Object.assign(this.#returned.get(id) ?? {}, change);
        this.#returned.set(id, changed);
        return changed;
      }
    },
  ],
  [
    'accepts an id twice at the same time',
    'of several insert() calls',
    class extends SharedKeyStore {
      override async insert(record: KeyRecord) {
        const isFree = this.backend.records.every(({ id, hash }) => id !== record.id && hash !== record.hash);
        await Promise.resolve();
        if (isFree) this.save([...this.backend.records, record], undefined, record);
        else await super.insert(record);
      }
    },
  ],
  [
    'checks for conflicts among the keys that it knows',
    'insert() rejects a key that another store',
    class extends SharedKeyStore {
      override async insert(record: KeyRecord) {
        if (this.known.some(({ id, hash }) => id === record.id || hash === record.hash)) await super.insert(record);
        else this.save([...this.backend.records, record], undefined, record);
      }
    },
  ],
  [
    'overwrites keys of other stores',
    'changes of several stores',
    class extends SharedKeyStore {
      override async insert(record: KeyRecord) {
        this.save([...this.known, record], undefined, record);
      }
    },
  ],
  [
    'overwrites fields that other stores changed',
    'changes of several stores',
    class extends SharedKeyStore {
      override async update(id: string, change: KeyChange) {
        const { hash } = this.backend.records.find((record) => record.id === id) ?? { hash: '' };
        return super.update(id, { ...this.lookup(hash), ...change });
      }
    },
  ],
  [
    'cannot change a key that another store has just added',
    'changes of several stores',
    class extends SharedKeyStore {
      override update(id: string, change: KeyChange) {
        return super.update(this.known.some((record) => record.id === id) ? id : 'none', change);
      }
    },
  ],
  [
    'forgets listeners when it opens',
    'onChange() also accepts listeners before open()',
    class extends SharedKeyStore {
      override async open() {
        this.listeners = [];
        await super.open();
      }
    },
  ],
  [
    'is unhealthy after a rejected change',
    'a rejected change does not affect health()',
    class extends SharedKeyStore {
      #failed = false;
      override async insert(record: KeyRecord) {
        await super.insert(record).catch((error: unknown) => {
          this.#failed = true;
          throw error;
        });
      }
      override health() {
        return this.#failed ? { ok: false, message: 'conflict' } : super.health();
      }
    },
  ],
  [
    'forgets revocations when it is closed',
    'a store that is opened later',
    class extends SharedKeyStore {
      override async open() {
        this.backend.records = this.backend.records.map((record) => ({ ...record, revoked_at: null }));
        await super.open();
      }
    },
  ],
  [
    'forgets its audit when it is closed',
    'audit() and lastUsed() of a store that is opened later',
    class extends SharedKeyStore {
      override async open() {
        this.backend.audit = [];
        await super.open();
      }
    },
  ],
  [
    'forgets times of use when it is closed',
    'audit() and lastUsed() of a store that is opened later',
    class extends SharedKeyStore {
      override async open() {
        this.backend.used.clear();
        await super.open();
      }
    },
  ],
  [
    'keeps only the times of the last noteUse()',
    'noteUse() keeps the later time',
    class extends SharedKeyStore {
      override async noteUse(times: ReadonlyMap<string, number>) {
        for (const id of [...this.backend.used.keys()]) if (!times.has(id)) this.backend.used.delete(id);
        await super.noteUse(times);
      }
    },
  ],
  [
    'loses times that are noted at the same time',
    'noteUse() keeps the later time',
    class extends SharedKeyStore {
      override async noteUse(times: ReadonlyMap<string, number>) {
        const before = new Map(this.backend.used);
        await Promise.resolve();
        this.backend.used.clear();
        for (const [id, time] of before) this.backend.used.set(id, time);
        await super.noteUse(times);
      }
    },
  ],
  [
    'stores times of use in seconds',
    'noteUse() keeps the later time',
    class extends SharedKeyStore {
      override noteUse(times: ReadonlyMap<string, number>) {
        return super.noteUse(new Map([...times].map(([id, time]) => [id, Math.floor(time / 1000) * 1000])));
      }
    },
  ],
  [
    'adds an audit entry for a conflict',
    'audit() lists each change',
    class extends SharedKeyStore {
      override async insert(record: KeyRecord) {
        await super.insert(record).catch((error: unknown) => {
          this.backend.audit = [...this.backend.audit, this.backend.audit[0]!];
          throw error;
        });
      }
    },
  ],
  [
    'calls every change "change" in its audit',
    'audit() names the action',
    class extends SharedKeyStore {
      override async audit(): Promise<readonly KeyAuditEntry[]> {
        return (await super.audit()).map((entry) => ({
          ...entry,
          action: entry.action === 'create' ? 'create' : 'change',
        }));
      }
    },
  ],
  [
    'lists no old values in its audit',
    'audit() names the action',
    class extends SharedKeyStore {
      override async audit(): Promise<readonly KeyAuditEntry[]> {
        return (await super.audit()).map((entry) => ({
          ...entry,
          changes: Object.fromEntries(
            Object.entries(entry.changes).map(([name, { to }]) => [name, { from: null, to }]),
          ),
        }));
      }
    },
  ],
  [
    'does not look for the expected entry',
    'verifyAudit() reports',
    class extends SharedKeyStore {
      override verifyAudit() {
        return super.verifyAudit();
      }
    },
  ],
  [
    'restores a backup in addition to its keys',
    'replaceAll() replaces',
    class extends SharedKeyStore {
      override replaceAll({ records, audit }: StoredKeys) {
        const added = this.backend.records.filter(({ id }) => !records.some((record) => record.id === id));
        return super.replaceAll({ records: [...records, ...added], audit });
      }
    },
  ],
  [
    'keeps its audit when it restores a backup',
    'replaceAll() replaces',
    class extends SharedKeyStore {
      override replaceAll({ records }: StoredKeys) {
        return super.replaceAll({ records, audit: this.backend.audit });
      }
    },
  ],
  [
    'keeps times of use when it restores a backup',
    'replaceAll() replaces',
    class extends SharedKeyStore {
      override async replaceAll(content: StoredKeys) {
        const used = new Map(this.backend.used);
        await super.replaceAll(content);
        await this.noteUse(used);
      }
    },
  ],
  [
    'leaves revoked keys out of a backup',
    'replaceAll() replaces',
    class extends SharedKeyStore {
      override async exportAll() {
        const { records, audit } = await super.exportAll();
        return { records: records.filter(({ revoked_at }) => revoked_at === null), audit };
      }
    },
  ],
];
