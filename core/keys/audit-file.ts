/**
 * An audit in a file: one entry a line, appended and never rewritten. Beside it, `<file>.head` has the hash of the
 * newest entry, so that the removal of the last line shows too.
 */
import { constants } from 'node:fs';
import { stat } from 'node:fs/promises';
import type { AuditEntry, AuditVerification } from '../contracts/audit.js';
import type { Logger } from '../contracts/runtime.js';
import { openRegular, readRegular, unlessMissing } from '../util/regular.js';
import { type NewFile, ownNewFile, writeFileAtomic } from '../util/write-atomic.js';
import { chain, endOf, type Placed, verifyChain } from './chain.js';
import { MAX_KEY_FILE_BYTES } from './key-file.js';

const NEWLINE = 0x0a;
/** For reading too, as `a+`. */
const APPEND = constants.O_RDWR | constants.O_APPEND | constants.O_CREAT;

const appendLines = async (path: string, lines: string, options: NewFile): Promise<void> => {
  const isNew = (await stat(path).catch(unlessMissing)) === undefined;
  const file = await openRegular(path, APPEND, options.mode);
  try {
    if (isNew) await ownNewFile(path, file, options);
    const { size } = await file.stat();
    const { bytesRead, buffer } = await file.read({ buffer: Buffer.alloc(1), position: Math.max(0, size - 1) });
    // A crash or a full disk may have cut the last line short: a new line keeps this entry apart from it.
    const start = bytesRead === 0 || buffer[0] === NEWLINE ? '' : '\n';
    await file.appendFile(`${start}${lines}\n`);
    await file.sync();
  } finally {
    await file.close();
  }
};

const parse = (line: string): unknown => {
  try {
    return JSON.parse(line);
  } catch {
    return undefined;
  }
};

export class AuditFile<E extends AuditEntry> {
  readonly #path: string;
  readonly #isEntry: (value: unknown) => value is E;

  constructor(path: string, isEntry: (value: unknown) => value is E) {
    this.#path = path;
    this.#isEntry = isEntry;
  }

  /**
   * Resolves with the entries as they were chained when they are on the disk. One process at a time may call it.
   * @param added one entry at least
   * @param options owner and permissions of a new file
   */
  async append(added: readonly E[], options: NewFile): Promise<readonly E[]> {
    const { placed } = await this.#read();
    const entries = placed.map((each) => each.entry);
    const head = await this.#head();
    // Where the newest lines were removed, the next one follows the head all the same, which shows the gap.
    const isStopped = entries.at(-1)?.previous === head;
    let previous = head === undefined || isStopped ? endOf(entries) : head;
    const linked = added.map((entry) => {
      const each = chain(entry, previous);
      previous = each.hash;
      return each;
    });
    await appendLines(this.#path, linked.map((each) => JSON.stringify(each)).join('\n'), options);
    await writeFileAtomic(this.#headPath, `${previous}\n`, { ...options, like: this.#path });
    return linked;
  }

  /** All entries, the oldest first. Lines that are no entries are left out, and named in the log. */
  async list(logger?: Logger): Promise<readonly E[]> {
    const { placed, unreadable } = await this.#read();
    if (unreadable.length > 0)
      logger?.warn({ path: this.#path, lines: unreadable }, 'these lines of the audit cannot be read');
    return placed.map(({ entry }) => entry);
  }

  /** @param expected the hash of an entry that must be there */
  async verify(expected?: string): Promise<AuditVerification> {
    for (;;) {
      const head = await this.#head();
      const { placed, unreadable } = await this.#read();
      // Another process has appended meanwhile, so that lines and head do not belong together: both are read again.
      if ((await this.#head()) !== head) continue;
      const notes = unreadable.map((line) => `line ${line} is no entry: a process was stopped while it wrote it`);
      return { ...verifyChain(placed, head, expected), notes };
    }
  }

  get #headPath(): string {
    return `${this.#path}.head`;
  }

  async #head(): Promise<string | undefined> {
    return (await readRegular(this.#headPath).catch(unlessMissing))?.trim();
  }

  async #read(): Promise<{ placed: readonly Placed<E>[]; unreadable: readonly number[] }> {
    const content = (await readRegular(this.#path, MAX_KEY_FILE_BYTES).catch(unlessMissing)) ?? '';
    const placed: Placed<E>[] = [];
    const unreadable: number[] = [];
    for (const [i, line] of content.split('\n').entries()) {
      if (line === '') continue;
      const value = parse(line);
      if (this.#isEntry(value)) placed.push({ entry: value, place: `line ${i + 1}` });
      else unreadable.push(i + 1);
    }
    return { placed, unreadable };
  }
}
