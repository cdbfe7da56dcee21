/** The audit beside a key file: `<key file>.audit.ndjson`, one entry a line, appended and never rewritten. */
import { open, readFile } from 'node:fs/promises';
import type { KeyAuditEntry } from '../contracts/keys.js';
import type { Logger } from '../contracts/runtime.js';
import { KeyStoreError } from '../errors.js';
import { fileErrorReason } from '../file-error.js';
import { compileSchema } from '../schema.js';
import { besideKeyFile, modeOfKeyFile } from './key-file.js';

const NEWLINE = 0x0a;

const text = { type: 'string' };
const isEntry = compileSchema<KeyAuditEntry>({
  type: 'object',
  required: ['time', 'action', 'key', 'by', 'changes'],
  properties: {
    time: text,
    action: text,
    key: text,
    by: text,
    changes: { type: 'object', additionalProperties: { type: 'object', required: ['from', 'to'] } },
  },
});

const append = async (path: string, line: string, mode: number): Promise<void> => {
  const file = await open(path, 'a+', mode);
  try {
    const { size } = await file.stat();
    // Whatever the umask took away.
    if (size === 0) await file.chmod(mode);
    const { bytesRead, buffer } = await file.read({ buffer: Buffer.alloc(1), position: Math.max(0, size - 1) });
    // A crash or a full disk may have cut the last line short: it must not spoil this one.
    const start = bytesRead === 0 || buffer[0] === NEWLINE ? '' : '\n';
    await file.appendFile(`${start}${line}\n`);
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

/**
 * Resolves when the entry is on the disk.
 * @param keyFile path of the file of keys, whose permissions a new audit gets
 * @throws KeyStoreError
 */
export const appendAudit = async (keyFile: string, entry: KeyAuditEntry): Promise<void> => {
  const path = await besideKeyFile(keyFile, 'audit.ndjson');
  try {
    await append(path, JSON.stringify(entry), await modeOfKeyFile(keyFile));
  } catch (cause) {
    const reason = fileErrorReason(cause);
    throw new KeyStoreError('unavailable', `Nothing has changed: the audit ${path} cannot be written: ${reason}.`, {
      cause,
    });
  }
};

/**
 * The oldest first; none where there is no file. A change is made only when its line is whole, so that lines which
 * are no entries are passed over, and named in the log. @throws KeyStoreError
 */
export const readAudit = async (keyFile: string, logger: Logger): Promise<readonly KeyAuditEntry[]> => {
  const path = await besideKeyFile(keyFile, 'audit.ndjson');
  const content = await readFile(path, 'utf8').catch((cause: NodeJS.ErrnoException) => {
    if (cause.code === 'ENOENT') return '';
    throw new KeyStoreError('unavailable', `The audit ${path} cannot be read: ${fileErrorReason(cause)}.`, { cause });
  });
  const entries: KeyAuditEntry[] = [];
  const unreadable: number[] = [];
  for (const [i, line] of content.split('\n').entries()) {
    if (line === '') continue;
    const value = parse(line);
    if (isEntry(value)) entries.push(value);
    else unreadable.push(i + 1);
  }
  if (unreadable.length > 0) logger.warn({ path, lines: unreadable }, 'these lines of the audit cannot be read');
  return entries;
};
