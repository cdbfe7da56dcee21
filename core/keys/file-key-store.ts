/**
 * Keys in a JSON file. Several processes may write it, and it is read again when it changes. Files next to it:
 * `<file>.audit.ndjson` and its `.head` with every change, and `<file>.used.json` with the last use of each key.
 */

import { stat } from 'node:fs/promises';
import { AuditFile } from '../audit/audit-file.js';
import { endOf, madeOnly, undoing } from '../audit/chain.js';
import {
  auditEntry,
  compareWithAudit,
  describeUnrecorded,
  entriesOf,
  isKeyAuditEntry,
  withComparison,
} from '../audit/key-audit.js';
import type { AuditVerification } from '../contracts/audit.js';
import type {
  KeyAuditEntry,
  KeyChange,
  KeyRecord,
  KeyStore,
  KeyStoreContext,
  KeyStoreModule,
} from '../contracts/keys.js';
import type { Health } from '../contracts/runtime.js';
import { firstLines, KeyStoreError } from '../errors.js';
import { fileErrorReason } from '../util/error-reason.js';
import { withFileLock } from '../util/lock.js';
import { readRegular, unlessMissing } from '../util/read-file.js';
import { writeFileAtomic } from '../util/write-atomic.js';
import {
  formatKeyFile,
  KEY_FILE_MODE,
  MAX_KEY_FILE_BYTES,
  mergeUsed,
  parseKeyFile,
  readUsed,
  siblingPath,
} from './key-file.js';
import { indexByHash, withChanged, withInserted } from './key-table.js';

interface FileKeyStoreOptions {
  readonly path: string;
  readonly pollMs: number;
}

/** Maximum number of keys that one log line names. */
const MAX_NAMED = 20;

/** Identity of a file; undefined if it does not exist. */
type Stamp = string | undefined;

const stampOf = async (path: string): Promise<Stamp> => {
  const found = await stat(path, { bigint: true }).catch(unlessMissing);
  return found && [found.ino, found.size, found.mtimeNs, found.ctimeNs].join(':');
};

export class FileKeyStore implements KeyStore {
  readonly #path: string;
  readonly #listeners: (() => void)[] = [];
  #records: readonly KeyRecord[] = [];
  #byHash = indexByHash([]);
  /** Identity of the file at the last read, and the error of that read. */
  #stamp: Stamp;
  #error: KeyStoreError | undefined;
  #reading: Promise<unknown> = Promise.resolve();
  #timer: NodeJS.Timeout | undefined;
  /** The running search for edits by hand. */
  #edits: Promise<void> = Promise.resolve();
  #closed = false;

  constructor(
    readonly options: FileKeyStoreOptions,
    readonly context: KeyStoreContext,
  ) {
    this.#path = context.resolvePath(options.path);
  }

  /** A missing file counts as a file without keys. @throws KeyStoreError if the file cannot be read */
  async open(): Promise<void> {
    await this.#read();
    this.#poll();
  }

  async close(): Promise<void> {
    this.#closed = true;
    clearTimeout(this.#timer);
    await this.#reading;
    await this.#edits;
  }

  lookup(hash: string): KeyRecord | undefined {
    return this.#byHash.get(hash);
  }

  onChange(listener: () => void): void {
    this.#listeners.push(listener);
  }

  health(): Health {
    return this.#error === undefined
      ? { ok: true, message: null }
      : { ok: false, message: 'The key file cannot be read; the previous keys stay active.' };
  }

  list(): Promise<readonly KeyRecord[]> {
    return this.#read();
  }

  async insert(record: KeyRecord): Promise<void> {
    await this.#change((records) => ({ records: withInserted(records, record), changed: record }));
  }

  update(id: string, change: KeyChange): Promise<KeyRecord> {
    return this.#change((records) => withChanged(records, id, change));
  }

  async audit(): Promise<readonly KeyAuditEntry[]> {
    return madeOnly(await this.#audited('read', (file) => file.list(this.context.logger)));
  }

  verifyAudit(expected?: string): Promise<AuditVerification> {
    return this.#audited('read', async (file) => {
      let [verified, entries, records]: [
        AuditVerification | undefined,
        readonly KeyAuditEntry[],
        readonly KeyRecord[],
      ] = [undefined, [], []];
      // Reads again if a change was made in between.
      while (verified?.head !== endOf(entries)) {
        entries = await file.list();
        records = await this.#read();
        verified = await file.verify(expected);
      }
      return withComparison(verified, records, entries);
    });
  }

  noteUse(times: ReadonlyMap<string, number>): Promise<void> {
    return mergeUsed(this.#path, times);
  }

  lastUsed(): Promise<ReadonlyMap<string, number>> {
    return readUsed(this.#path);
  }

  async #change(
    edit: (records: readonly KeyRecord[]) => { records: readonly KeyRecord[]; changed: KeyRecord },
  ): Promise<KeyRecord> {
    try {
      return await withFileLock(this.#path, async (confirm) => {
        const before = await this.#read();
        const { records, changed } = edit(before);
        await this.#recordEdits(before);
        const known = before.find(({ id }) => id === changed.id);
        const entry = auditEntry(known, changed, this.context.clock.now());
        await writeFileAtomic(this.#path, formatKeyFile(records), {
          mode: KEY_FILE_MODE,
          beforeCommit: async () => {
            // The audit entry is written first, so that every change has one.
            if (entry) await this.#append([entry]);
            await confirm();
          },
        });
        await this.#read({ isOwn: true });
        return changed;
      });
    } catch (cause) {
      throw cause instanceof KeyStoreError ? cause : this.#unavailable('written', fileErrorReason(cause), cause);
    }
  }

  #unavailable(what: string, reason: string, cause?: unknown): KeyStoreError {
    return new KeyStoreError('unavailable', `The key file ${this.#path} cannot be ${what}: ${reason}.`, { cause });
  }

  /**
   * Returns the records, after reading the file if it changed. Reads run one after the other, so that none brings back an
   * older state. If a read fails, `lookup` continues with the previous records.
   * @param isOwn whether this store made the change, which is in the audit already
   * @throws KeyStoreError
   */
  #read({ isOwn = false } = {}): Promise<readonly KeyRecord[]> {
    const reading = this.#reading.then(() => this.#load(isOwn));
    this.#reading = reading.catch(() => undefined);
    return reading;
  }

  async #load(isOwn: boolean): Promise<readonly KeyRecord[]> {
    const earlier = this.#error;
    try {
      // Read before the content, so that a change during the read is noticed by the next poll.
      const stamp = await stampOf(this.#path);
      // Removing the file does not revoke all keys, since that may have been a mistake.
      if (stamp === undefined && this.#stamp !== undefined) throw this.#unavailable('read', 'it has disappeared');
      if (stamp === this.#stamp && earlier?.code !== 'unavailable') {
        if (earlier) throw earlier;
        return this.#records;
      }
      const content = await readRegular(this.#path, MAX_KEY_FILE_BYTES);
      const isFirst = this.#stamp === undefined;
      this.#stamp = stamp;
      this.#replace(parseKeyFile(this.#path, content));
      this.#error = undefined;
      // Edits from before the start of this process are recorded with the next change.
      if (!isFirst && !isOwn) this.#edits = this.#findEdits();
    } catch (cause) {
      const error = cause instanceof KeyStoreError ? cause : this.#unavailable('read', fileErrorReason(cause), cause);
      this.#error = error;
      throw error;
    }
    if (earlier) this.context.logger.info('the key file can be read again');
    return this.#records;
  }

  async #findEdits(): Promise<void> {
    try {
      const entries = await this.#audited('read', (file) => file.list());
      if (compareWithAudit(this.#records, entries).unrecorded.length === 0) return;
      // Under the lock no change is in progress, so any difference is an edit by hand.
      await withFileLock(this.#path, async () => this.#recordEdits(await this.#read()));
    } catch (err) {
      const { path } = this.options;
      this.context.logger.warn({ err, path }, 'the key file was changed, but its audit cannot be read');
    }
  }

  /** Adds entries for edits by hand, and names the edited keys in the log. The caller holds the lock. */
  async #recordEdits(records: readonly KeyRecord[]): Promise<void> {
    const entries = await this.#audited('written', (file) => file.list());
    const { unrecorded, pending } = compareWithAudit(records, entries);
    const now = this.context.clock.now();
    const undone = pending?.hash === undefined ? [] : [undoing(pending, new Date(now).toISOString())];
    const added = [...undone, ...entriesOf(unrecorded, now)];
    if (added.length > 0) await this.#append(added);
    if (unrecorded.length === 0) return;
    const keys = firstLines(unrecorded.map(describeUnrecorded), MAX_NAMED);
    this.context.logger.warn({ path: this.#path, keys }, 'the key file was edited by hand; its audit was updated');
  }

  async #append(entries: readonly KeyAuditEntry[]): Promise<void> {
    const options = { mode: KEY_FILE_MODE, like: this.#path };
    await this.#audited('written', (file) => file.append(entries, options));
  }

  async #audited<T>(what: 'read' | 'written', work: (file: AuditFile<KeyAuditEntry>) => Promise<T>): Promise<T> {
    const path = await siblingPath(this.#path, 'audit.ndjson');
    try {
      return await work(new AuditFile(path, isKeyAuditEntry));
    } catch (cause) {
      if (cause instanceof KeyStoreError) throw cause;
      const start = what === 'written' ? 'Nothing has changed: the' : 'The';
      const message = `${start} audit ${path} cannot be ${what}: ${fileErrorReason(cause)}.`;
      throw new KeyStoreError('unavailable', message, { cause });
    }
  }

  #replace(records: readonly KeyRecord[]): void {
    this.#records = records;
    this.#byHash = indexByHash(records);
    for (const listener of this.#listeners) listener();
  }

  #poll(): void {
    if (this.#closed) return;
    this.#timer = setTimeout(async () => {
      const earlier = this.#error;
      await this.#read().catch((err: KeyStoreError) => {
        // Each error is logged once, not at every poll.
        if (err.message === earlier?.message) return;
        this.context.logger.error({ err }, 'the key file cannot be used; the previous keys stay active');
      });
      this.#poll();
    }, this.options.pollMs).unref();
  }
}

export const fileKeyStore: KeyStoreModule<FileKeyStoreOptions> = {
  kind: 'key-store',
  name: 'file',
  options: {
    type: 'object',
    additionalProperties: false,
    required: ['path'],
    properties: {
      path: { type: 'string', minLength: 1, description: 'The key file. The first "keys create" creates it.' },
      pollMs: {
        type: 'integer',
        minimum: 50,
        maximum: 4000,
        default: 1000,
        description: 'Interval between checks of the file for changes, in milliseconds.',
      },
    },
  },
  create: (options, context) => new FileKeyStore(options, context),
};
