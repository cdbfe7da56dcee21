/**
 * An append-only audit file with one entry per line. `<file>.head` contains the hash of the newest entry, which reveals
 * if the last line was removed.
 */
import { constants } from 'node:fs';
import { rm, stat, writeFile } from 'node:fs/promises';
import type { AuditEntry, AuditVerification } from '../contracts/audit.js';
import type { Logger } from '../contracts/runtime.js';
import { openRegular, readRegular, streamRegular, unlessMissing } from '../util/read-file.js';
import { inPieces, type NewFile, ownNewFile, writeFileAtomic } from '../util/write-atomic.js';
import { chain, endOf, type Placed, verifyChain } from './chain.js';

const MAX_BYTES = 384 * 2 ** 20;
const TAIL_BYTES = 16 * 1024;
const NEWLINE = 0x0a;
const APPEND = constants.O_RDWR | constants.O_APPEND | constants.O_CREAT;

const appendLines = async (path: string, lines: Iterable<string>, options: NewFile): Promise<void> => {
  const isNew = (await stat(path).catch(unlessMissing)) === undefined;
  const file = await openRegular(path, APPEND, options.mode);
  try {
    if (isNew) await ownNewFile(path, file, options);
    const { size } = await file.stat();
    const { bytesRead, buffer } = await file.read({ buffer: Buffer.alloc(1), position: Math.max(0, size - 1) });
    // A crash or a full disk can leave an incomplete last line. The next entry must start on a new line.
    if (bytesRead > 0 && buffer[0] !== NEWLINE) await file.appendFile('\n');
    await writeFile(file, inPieces(lines));
    await file.sync();
  } finally {
    await file.close();
  }
};

const lineOf = (entry: AuditEntry): string => `${JSON.stringify(entry)}\n`;

function* linesOf(entries: Iterable<AuditEntry>): Generator<string> {
  for (const entry of entries) yield lineOf(entry);
}

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

  /** Appends audit entries. The caller must hold a lock. */
  async append(added: Iterable<E>, options: NewFile): Promise<void> {
    const entries = await this.#newest();
    const head = await this.#head();
    // The hash is one entry behind if a process stopped after it wrote an entry, and before it wrote the `.head` file.
    const isHeadOld = entries.at(-1)?.previous === head;
    // If the last lines were removed, the `.head` file still contains the hash of the last one. The new entry refers to
    // this hash, so that `verify` finds the gap.
    let previous = head === undefined || isHeadOld ? endOf(entries) : head;
    function* linked(): Generator<string> {
      for (const entry of added) {
        const each = chain(entry, previous);
        previous = each.hash;
        yield lineOf(each);
      }
    }
    await appendLines(this.#path, linked(), options);
    await writeFileAtomic(this.#headPath, `${previous}\n`, { ...options, like: this.#path });
  }

  async replace(entries: readonly E[], options: NewFile): Promise<void> {
    const hash = endOf(entries);
    if (hash === null) {
      for (const path of [this.#headPath, this.#path]) await rm(path, { force: true });
      return;
    }
    await writeFileAtomic(this.#path, linesOf(entries), options);
    await writeFileAtomic(this.#headPath, `${hash}\n`, { ...options, like: this.#path });
  }

  async list(logger?: Logger): Promise<readonly E[]> {
    const { placed, unreadable } = await this.#read();
    if (unreadable.length > 0)
      logger?.warn({ path: this.#path, lines: unreadable }, 'lines of the audit cannot be read');
    return placed.map(({ entry }) => entry);
  }

  async verify(expected?: string): Promise<AuditVerification> {
    for (;;) {
      const head = await this.#head();
      const { placed, unreadable } = await this.#read();
      // If the hash has changed, another process appended an entry during the read, so both files are read again.
      if ((await this.#head()) !== head) continue;
      const notes = unreadable.map((line) => `line ${line} is not an entry: the process that wrote it was stopped`);
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
    const placed: Placed<E>[] = [];
    const unreadable: number[] = [];
    for await (const { line, entry } of this.#lines()) {
      if (entry) placed.push({ entry, place: `line ${line}` });
      else unreadable.push(line);
    }
    return { placed, unreadable };
  }

  async #newest(): Promise<readonly E[]> {
    const size = await this.size();
    for (let bytes = TAIL_BYTES; ; bytes *= 16) {
      const entries: E[] = [];
      for await (const entry of this.entries(Math.max(0, size - bytes))) entries.push(entry);
      if (bytes >= size || endOf(entries) !== null) return entries;
    }
  }

  async size(): Promise<number> {
    return (await stat(this.#path).catch(unlessMissing))?.size ?? 0;
  }

  /**
   * Yields audit entries.
   * @param start byte offset; a line that starts before it is skipped
   */
  async *entries(start = 0): AsyncGenerator<E> {
    for await (const { entry } of this.#lines(start)) if (entry) yield entry;
  }

  /** Yields all non-empty lines. `entry` is undefined for lines that are not entries. */
  async *#lines(start = 0): AsyncGenerator<{ line: number; entry: E | undefined }> {
    let line = 0;
    let rest: Buffer = Buffer.alloc(0);
    const entryOf = (bytes: Buffer): E | undefined => {
      const value = parse(bytes.toString('utf8'));
      return this.#isEntry(value) ? value : undefined;
    };
    try {
      for await (const chunk of streamRegular(this.#path, MAX_BYTES, start)) {
        const bytes = rest.length > 0 ? Buffer.concat([rest, chunk]) : chunk;
        let from = 0;
        for (let end = bytes.indexOf(NEWLINE); end !== -1; end = bytes.indexOf(NEWLINE, from)) {
          line++;
          if (end > from) yield { line, entry: entryOf(bytes.subarray(from, end)) };
          from = end + 1;
        }
        rest = bytes.subarray(from);
      }
    } catch (error) {
      unlessMissing(error as NodeJS.ErrnoException);
    }
    if (rest.length > 0) yield { line: line + 1, entry: entryOf(rest) };
  }
}
