/**
 * Keys in a JSON file: safe against several processes writing, read again when it changes. Beside it stand
 * `<file>.audit.ndjson`, with every change, and `<file>.used.json`, with when each key was used last.
 */
import { readFile, stat } from 'node:fs/promises';
import type {
  KeyAuditEntry,
  KeyChange,
  KeyRecord,
  KeyStore,
  KeyStoreContext,
  KeyStoreModule,
} from '../contracts/keys.js';
import type { Health } from '../contracts/runtime.js';
import { KeyStoreError } from '../errors.js';
import { fileErrorReason } from '../file-error.js';
import { withFileLock } from '../file-lock.js';
import { writeFileAtomic } from '../write-file-atomic.js';
import { auditEntry } from './audit-entry.js';
import { appendAudit, readAudit } from './audit-file.js';
import { formatKeyFile, KEY_FILE_MODE, parseKeyFile } from './key-file.js';
import { indexByHash, withChanged, withInserted } from './key-table.js';
import { mergeUsed, readUsed } from './used-file.js';

export interface FileKeyStoreOptions {
  readonly path: string;
  readonly pollMs: number;
}

/** What the file was when it was read; undefined: there was none. */
type Stamp = string | undefined;

const stampOf = async (path: string): Promise<Stamp> => {
  try {
    const { ino, size, mtimeNs, ctimeNs } = await stat(path, { bigint: true });
    return [ino, size, mtimeNs, ctimeNs].join(':');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
};

export class FileKeyStore implements KeyStore {
  readonly #path: string;
  readonly #listeners: (() => void)[] = [];
  #records: readonly KeyRecord[] = [];
  #byHash = indexByHash([]);
  /** Of the file that was read last, and what was wrong with it. */
  #stamp: Stamp;
  #fault: KeyStoreError | undefined;
  #reading: Promise<unknown> = Promise.resolve();
  #timer: NodeJS.Timeout | undefined;
  #closed = false;

  constructor(
    readonly options: FileKeyStoreOptions,
    readonly context: KeyStoreContext,
  ) {
    this.#path = context.resolvePath(options.path);
  }

  /** A file that is not there holds no keys. @throws KeyStoreError when there is one that cannot be read */
  async open(): Promise<void> {
    await this.#read();
    this.#poll();
  }

  async close(): Promise<void> {
    this.#closed = true;
    clearTimeout(this.#timer);
    await this.#reading;
  }

  lookup(hash: string): KeyRecord | undefined {
    return this.#byHash.get(hash);
  }

  onChange(listener: () => void): void {
    this.#listeners.push(listener);
  }

  health(): Health {
    return this.#fault === undefined
      ? { ok: true, message: null }
      : { ok: false, message: 'The key file cannot be read; the keys read last stay in force.' };
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

  audit(): Promise<readonly KeyAuditEntry[]> {
    return readAudit(this.#path, this.context.logger);
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
      return await withFileLock(this.#path, async (lock) => {
        const before = await this.#read();
        const { records, changed } = edit(before);
        const known = before.find(({ id }) => id === changed.id);
        const entry = auditEntry(known, changed, this.context.clock.now());
        await writeFileAtomic(this.#path, formatKeyFile(records), {
          mode: KEY_FILE_MODE,
          beforeCommit: async () => {
            // First, so that no change is ever without its entry.
            if (entry) await appendAudit(this.#path, entry);
            await lock.confirm();
          },
        });
        await this.#read();
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
   * What the file holds, read again if it has changed; one reading after the other, so that none brings back an older
   * state. @throws KeyStoreError; `lookup` then goes on with the records read last
   */
  #read(): Promise<readonly KeyRecord[]> {
    const reading = this.#reading.then(() => this.#load());
    this.#reading = reading.catch(() => undefined);
    return reading;
  }

  async #load(): Promise<readonly KeyRecord[]> {
    const earlier = this.#fault;
    try {
      // Taken before reading: a change in between is then seen the next time.
      const stamp = await stampOf(this.#path);
      // Not taken for "no keys": to revoke all by a slip of `rm` would be the worse surprise.
      if (stamp === undefined && this.#stamp !== undefined) throw this.#unavailable('read', 'it has disappeared');
      if (stamp === this.#stamp && earlier?.code !== 'unavailable') {
        if (earlier) throw earlier;
        return this.#records;
      }
      const content = await readFile(this.#path, 'utf8');
      this.#stamp = stamp;
      this.#replace(parseKeyFile(this.#path, content));
      this.#fault = undefined;
    } catch (cause) {
      const fault = cause instanceof KeyStoreError ? cause : this.#unavailable('read', fileErrorReason(cause), cause);
      this.#fault = fault;
      throw fault;
    }
    if (earlier) this.context.logger.info('The key file is good again');
    return this.#records;
  }

  #replace(records: readonly KeyRecord[]): void {
    this.#records = records;
    this.#byHash = indexByHash(records);
    for (const listener of this.#listeners) listener();
  }

  #poll(): void {
    if (this.#closed) return;
    this.#timer = setTimeout(async () => {
      const earlier = this.#fault;
      await this.#read().catch((fault: KeyStoreError) => {
        // Once for each fault, not for each look.
        if (fault.message === earlier?.message) return;
        this.context.logger.error({ err: fault }, 'The key file is refused; the keys read last stay in force');
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
      path: { type: 'string', minLength: 1, description: 'The file of keys; made when the first key is.' },
      pollMs: {
        type: 'integer',
        minimum: 50,
        maximum: 4000,
        default: 1000,
        description: 'How often to look whether the file has changed. In milliseconds.',
      },
    },
  },
  create: (options, context) => new FileKeyStore(options, context),
};
