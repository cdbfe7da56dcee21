/**
 * Stores API keys in a JSON file. Several processes can write to the file, and each process reloads the file after a
 * change.
 */

import { stat } from 'node:fs/promises';
import { undoing } from '../audit/chain.js';
import { auditEntry, describeUnrecorded, entriesOf } from '../audit/key-audit.js';
import type { AuditVerification } from '../contracts/audit.js';
import type {
  KeyAuditEntry,
  KeyChange,
  KeyRecord,
  KeyStore,
  KeyStoreContext,
  KeyStoreModule,
  StoredKeys,
} from '../contracts/keys.js';
import type { Health } from '../contracts/runtime.js';
import { firstLines, KeyStoreError } from '../errors.js';
import { fileErrorReason } from '../util/error-reason.js';
import { withFileLock } from '../util/lock.js';
import { openRegular, unlessMissing } from '../util/read-file.js';
import { writeFileAtomic } from '../util/write-atomic.js';
import { assertUnique, clearUsed, KEY_FILE_MODE, keyFilePieces, mergeUsed, readKeyFile, readUsed } from './key-file.js';
import { KeyFileAudit } from './key-file-audit.js';
import { KeyLines, type LineChange } from './key-lines.js';
import { indexByHash, withChange, withChanged, withInserted } from './key-table.js';

interface FileKeyStoreOptions {
  readonly path: string;
  readonly pollMs: number;
}

const MAX_NAMED = 20;

/** Identifies the state of the file. Undefined if the file does not exist. */
type Stamp = string | undefined;

const stampOf = async (path: string): Promise<Stamp> => {
  const found = await stat(path, { bigint: true }).catch(unlessMissing);
  return found && [found.ino, found.size, found.mtimeNs, found.ctimeNs].join(':');
};

export class FileKeyStore implements KeyStore {
  readonly #path: string;
  readonly #audit: KeyFileAudit;
  readonly #listeners: (() => void)[] = [];
  #records: readonly KeyRecord[] = [];
  #byHash = indexByHash([]);
  /** Undefined if the file does not have the format that commands write. */
  #lines: KeyLines | undefined;
  #stamp: Stamp;
  #error: KeyStoreError | undefined;
  #reading: Promise<unknown> = Promise.resolve();
  #timer: NodeJS.Timeout | undefined;
  #edits: Promise<void> = Promise.resolve();
  #closed = false;

  constructor(
    readonly options: FileKeyStoreOptions,
    readonly context: KeyStoreContext,
  ) {
    this.#path = context.resolvePath(options.path);
    this.#audit = new KeyFileAudit(this.#path);
  }

  /**
   * Opens the key file. If the file is missing, the store has no keys.
   * @throws KeyStoreError if the file cannot be read
   */
  async open(): Promise<void> {
    await this.#audit.open();
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
    return this.#audit.list(this.context.logger);
  }

  verifyAudit(expected?: string): Promise<AuditVerification> {
    return this.#audit.verify(() => this.#read(), expected);
  }

  noteUse(times: ReadonlyMap<string, number>): Promise<void> {
    return mergeUsed(this.#path, times);
  }

  lastUsed(): Promise<ReadonlyMap<string, number>> {
    return readUsed(this.#path);
  }

  async exportAll(): Promise<StoredKeys> {
    return { records: await this.#read(), audit: await this.#audit.entries() };
  }

  async replaceAll({ records, audit }: StoredKeys): Promise<void> {
    await this.#locked(async (confirm) => {
      await writeFileAtomic(this.#path, keyFilePieces(records), {
        mode: KEY_FILE_MODE,
        beforeCommit: async () => {
          await this.#audit.replace(audit);
          await clearUsed(this.#path);
          await confirm();
        },
      });
      await this.#read({ isOwn: true });
    });
  }

  async #change(
    edit: (records: readonly KeyRecord[]) => { records: readonly KeyRecord[]; changed: KeyRecord },
  ): Promise<KeyRecord> {
    return this.#locked(async (confirm) => {
      const before = await this.#read();
      const { records, changed } = edit(before);
      await this.#recordEdits(before);
      const known = before.find(({ id }) => id === changed.id);
      const entry = auditEntry(known, changed, this.context.clock.now());
      await writeFileAtomic(this.#path, keyFilePieces(records), {
        mode: KEY_FILE_MODE,
        beforeCommit: async () => {
          // The audit entry is written before the key, so that no change lacks an entry.
          if (entry) await this.#audit.append([entry]);
          await confirm();
        },
      });
      await this.#read({ isOwn: true });
      return changed;
    });
  }

  async #locked<T>(work: (confirm: () => Promise<void>) => Promise<T>): Promise<T> {
    try {
      return await withFileLock(this.#path, work);
    } catch (cause) {
      throw cause instanceof KeyStoreError ? cause : this.#unavailable('written', fileErrorReason(cause), cause);
    }
  }

  #unavailable(what: string, reason: string, cause?: unknown): KeyStoreError {
    return new KeyStoreError('unavailable', `The key file ${this.#path} cannot be ${what}: ${reason}.`, { cause });
  }

  /**
   * Reads the key file. Reads run one at a time, so that a slow read cannot restore an older state.
   * @param isOwn true if this store made the change and has recorded it in the audit log
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
      // The file state is read before the content, so that the next poll detects a change made during the read.
      const stamp = await stampOf(this.#path);
      // If the key file disappears, its keys stay active, because the file might have been removed by mistake.
      if (stamp === undefined && this.#stamp !== undefined) throw this.#unavailable('read', 'it has disappeared');
      if (stamp === this.#stamp && earlier?.code !== 'unavailable') {
        if (earlier) throw earlier;
        return this.#records;
      }
      const isFirst = this.#stamp === undefined;
      this.#stamp = stamp;
      const change = await this.#readFile();
      this.#error = undefined;
      // The first read does not look for manual edits. Edits made before this process started are recorded with the
      // next change.
      if (!isFirst && !isOwn) this.#edits = this.#edits.then(() => this.#findEdits(change));
    } catch (cause) {
      const error = cause instanceof KeyStoreError ? cause : this.#unavailable('read', fileErrorReason(cause), cause);
      this.#error = error;
      throw error;
    }
    if (earlier) this.context.logger.info('the key file can be read again');
    return this.#records;
  }

  async #readFile(): Promise<LineChange | undefined> {
    const file = await openRegular(this.#path);
    try {
      const change = await this.#lines?.changeTo(file, this.#records);
      const changed = change && withChange(this.#records, change);
      if (change && changed) {
        this.#lines = change.lines;
        this.#records = changed;
        for (const { hash } of change.removed) this.#byHash.delete(hash);
        for (const record of change.added) this.#byHash.set(record.hash, record);
        this.#notify();
        return change;
      }
      const read = await KeyLines.read(file);
      this.#records = read ? assertUnique(this.#path, read.records) : await readKeyFile(this.#path);
      this.#lines = read?.lines;
    } finally {
      await file.close();
    }
    this.#byHash = indexByHash(this.#records);
    this.#notify();
    return undefined;
  }

  async #findEdits(change: LineChange | undefined): Promise<void> {
    try {
      if (change && (await this.#audit.isRecorded(change))) return;
      if ((await this.#audit.compare(this.#records, 'read')).unrecorded.length === 0) return;
      // While this process holds the lock, no command changes the keys, so any difference is a manual edit.
      await withFileLock(this.#path, async () => this.#recordEdits(await this.#read()));
    } catch (err) {
      const { path } = this.options;
      this.context.logger.warn({ err, path }, 'the key file was changed, but its audit cannot be read');
    }
  }

  /** The caller must hold the lock. */
  async #recordEdits(records: readonly KeyRecord[]): Promise<void> {
    const { unrecorded, pending } = await this.#audit.compare(records, 'written');
    const now = this.context.clock.now();
    if (pending?.hash !== undefined) await this.#audit.append([undoing(pending, new Date(now).toISOString())]);
    if (unrecorded.length === 0) return;
    await this.#audit.append(entriesOf(unrecorded, now));
    const keys = firstLines(unrecorded, MAX_NAMED, describeUnrecorded);
    this.context.logger.warn({ path: this.#path, keys }, 'the key file was edited by hand; its audit was updated');
  }

  #notify(): void {
    for (const listener of this.#listeners) listener();
  }

  #poll(): void {
    if (this.#closed) return;
    this.#timer = setTimeout(async () => {
      const earlier = this.#error;
      await this.#read().catch((err: KeyStoreError) => {
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
        default: 250,
        description: 'Interval between checks of the file for changes, in milliseconds.',
      },
    },
  },
  create: (options, context) => new FileKeyStore(options, context),
};
