import { AuditFile } from '../audit/audit-file.js';
import { madeOnly, verifyStore } from '../audit/chain.js';
import {
  auditEntry,
  type Comparison,
  compareWithAudit,
  entriesInDoubt,
  isKeyAuditEntry,
  withComparison,
} from '../audit/key-audit.js';
import type { AuditVerification } from '../contracts/audit.js';
import type { KeyAuditEntry, KeyRecord } from '../contracts/keys.js';
import type { Logger } from '../contracts/runtime.js';
import { KeyStoreError } from '../errors.js';
import { fileErrorReason } from '../util/error-reason.js';
import { KEY_FILE_MODE, siblingPath } from './key-file.js';
import type { LineChange } from './key-lines.js';

export class KeyFileAudit {
  readonly #keyFile: string;
  /** Size of the audit file at the last comparison with the keys, in bytes. */
  #size = 0;
  /** New entries since the last comparison, if their changes are not in the key file yet. */
  #early: readonly KeyAuditEntry[] = [];

  constructor(keyFile: string) {
    this.#keyFile = keyFile;
  }

  async open(): Promise<void> {
    // If the audit cannot be read, the first comparison reports the error.
    this.#size = await this.#with('read', (file) => file.size()).catch(() => 0);
  }

  async list(logger: Logger): Promise<readonly KeyAuditEntry[]> {
    return madeOnly(await this.#with('read', (file) => file.list(logger)));
  }

  async append(entries: Iterable<KeyAuditEntry>): Promise<void> {
    const options = { mode: KEY_FILE_MODE, like: this.#keyFile };
    await this.#with('written', (file) => file.append(entries, options));
  }

  entries(): Promise<readonly KeyAuditEntry[]> {
    return this.#with('read', (file) => file.list());
  }

  async replace(entries: readonly KeyAuditEntry[]): Promise<void> {
    await this.#with('written', (file) => file.replace(entries, { mode: KEY_FILE_MODE, like: this.#keyFile }));
  }

  verify(readKeys: () => Promise<readonly KeyRecord[]>, expected?: string): Promise<AuditVerification> {
    return this.#with('read', (file) =>
      verifyStore(file, expected, async (entries) => {
        const records = await readKeys();
        return (verified) => withComparison(verified, records, entries);
      }),
    );
  }

  compare(records: readonly KeyRecord[], what: 'read' | 'written'): Promise<Comparison> {
    return this.#with(what, async (file) => {
      this.#size = await file.size();
      this.#early = [];
      const doubtful = await entriesInDoubt(records, () => file.entries());
      return compareWithAudit(doubtful.records, doubtful.entries);
    });
  }

  /**
   * Returns true if the new audit entries explain this change of the key file. Otherwise, all keys must be compared
   * with the audit log.
   */
  async isRecorded({ removed, added }: LineChange): Promise<boolean> {
    const entries = [...this.#early];
    await this.#with('read', async (file) => {
      const size = await file.size();
      for await (const entry of file.entries(this.#size)) entries.push(entry);
      this.#size = size;
    });
    const changed = new Set([...removed, ...added].map(({ id }) => id));
    this.#early = entries.filter(({ key }) => !changed.has(key));
    const known = removed.flatMap((record) => auditEntry(undefined, record, 0) ?? []);
    const since = entries.filter(({ key }) => changed.has(key));
    const { unrecorded, pending } = compareWithAudit(added, [...known, ...since]);
    return unrecorded.length === 0 && !pending && since.every(({ undoes }) => undoes === undefined);
  }

  async #with<T>(what: 'read' | 'written', work: (file: AuditFile<KeyAuditEntry>) => Promise<T>): Promise<T> {
    const path = await siblingPath(this.#keyFile, 'audit.ndjson');
    try {
      return await work(new AuditFile(path, isKeyAuditEntry));
    } catch (cause) {
      if (cause instanceof KeyStoreError) throw cause;
      const start = what === 'written' ? 'Nothing has changed: the' : 'The';
      const message = `${start} audit ${path} cannot be ${what}: ${fileErrorReason(cause)}.`;
      throw new KeyStoreError('unavailable', message, { cause });
    }
  }
}
