import { rm } from 'node:fs/promises';
import type { KeyRecord } from '../contracts/keys.js';
import { firstLines, KeyStoreError } from '../errors.js';
import { withFileLock } from '../util/lock.js';
import { readRegular, readRegularBytes } from '../util/read-file.js';
import { linkTarget, writeFileAtomic } from '../util/write-atomic.js';
import { compileSchema } from '../validation/compile-schema.js';
import { describeErrors } from '../validation/describe-errors.js';
import { findJsonError, formatJsonError } from '../validation/json.js';
import { dateTime, nullable, text } from '../validation/schemas.js';
import { maskKeys } from './key.js';

interface KeyFile {
  readonly format: 1;
  readonly keys: readonly KeyRecord[];
}

const properties = {
  id: text,
  hash: { type: 'string', pattern: '^[0-9a-f]{64}$' },
  name: text,
  tier: text,
  limit_per_minute: { type: ['integer', 'null'], minimum: 1 },
  created_at: dateTime,
  expires_at: nullable(dateTime),
  revoked_at: nullable(dateTime),
};

const recordSchema = {
  type: 'object',
  additionalProperties: false,
  required: Object.keys(properties),
  properties: { ...properties, pepper: { type: 'integer', minimum: 1 }, shares_limit_of: text },
};

export const isKeyRecord = compileSchema<KeyRecord>(recordSchema);

const validate = compileSchema<KeyFile>({
  type: 'object',
  additionalProperties: false,
  required: ['format', 'keys'],
  properties: {
    $schema: { type: 'string' },
    format: { const: 1 },
    keys: {
      type: 'array',
      items: recordSchema,
    },
  },
});

/** Enough bytes for about a million keys. The file that stores when keys were last used has the same limit. */
export const MAX_KEY_FILE_BYTES = 384 * 2 ** 20;

const MAX_SHOWN = 20;

const reject = (path: string, errors: readonly string[]): never => {
  // Keys are masked in the messages, because a user might have put a key into the file by mistake.
  const lines = firstLines(errors, MAX_SHOWN).map((error) => `\n  - ${maskKeys(error)}`);
  throw new KeyStoreError('invalid_file', `The key file ${path} is not valid:${lines.join('')}`);
};

const repetitions = (keys: readonly KeyRecord[], field: 'id' | 'hash'): string[] => {
  const first = new Map<string, number>();
  return keys.flatMap((record, i) => {
    const before = first.get(record[field]);
    if (before !== undefined) return `keys[${i}].${field}: repeats keys[${before}].${field}`;
    first.set(record[field], i);
    return [];
  });
};

/** @throws KeyStoreError with the code `invalid_file`. Its message lists all errors but reveals no hashes or keys */
export const parseKeyFile = (path: string, content: string): readonly KeyRecord[] => {
  let value: unknown;
  try {
    value = JSON.parse(content);
  } catch {
    // The error of `JSON.parse` is not used, because it would quote the content of the key file.
    const error = findJsonError(content);
    return reject(path, error ? [formatJsonError(error)] : []);
  }
  if (!validate(value)) return reject(path, describeErrors(validate.errors ?? [], value));
  return assertUnique(path, value.keys);
};

/**
 * Reads a key file, even if its JSON is not formatted as commands write it.
 * @throws KeyStoreError with the code `invalid_file`, or an error from `node:fs`
 */
export const readKeyFile = async (path: string): Promise<readonly KeyRecord[]> =>
  parseKeyFile(path, String(await readRegularBytes(path, MAX_KEY_FILE_BYTES)));

/** @throws KeyStoreError with the code `invalid_file` if two keys have the same id or hash */
export const assertUnique = (path: string, keys: readonly KeyRecord[]): readonly KeyRecord[] => {
  const repeated = [...repetitions(keys, 'id'), ...repetitions(keys, 'hash')];
  return repeated.length > 0 ? reject(path, repeated) : keys;
};

/** Commands write one key per line, so that diffs are readable. */
export const KEYS_START = '{\n  "format": 1,\n  "keys": [';
export const KEYS_END = '\n  ]\n}\n';
export const KEY_INDENT = '    ';

export function* keyFilePieces(keys: readonly KeyRecord[]): Generator<string> {
  yield KEYS_START;
  let separator = '';
  for (const key of keys) {
    yield `${separator}\n${KEY_INDENT}${JSON.stringify(key)}`;
    separator = ',';
  }
  yield KEYS_END;
}

/**
 * Returns the path of a file next to the key file. If the key file is a symbolic link, the file is next to the target
 * of the link.
 */
export const siblingPath = async (path: string, extension: string): Promise<string> =>
  `${await linkTarget(path)}.${extension}`;

export const KEY_FILE_MODE = 0o600;

/**
 * A separate file stores when keys were last used. In the key file, these times would conflict with manual edits and
 * make every process reload all keys.
 */
const usedPath = (keyFile: string): Promise<string> => siblingPath(keyFile, 'used.json');

const formatUsed = (times: ReadonlyMap<string, number>): string => {
  const lines = [...times].map(([id, time]) => `\n    ${JSON.stringify(id)}: "${new Date(time).toISOString()}"`);
  return `{\n  "format": 1,\n  "last_used_at": {${lines.join(',')}\n  }\n}\n`;
};

const readTimes = async (path: string): Promise<Map<string, number>> => {
  try {
    const { last_used_at } = JSON.parse(await readRegular(path, MAX_KEY_FILE_BYTES)) as {
      last_used_at: Record<string, string>;
    };
    const times = Object.entries(last_used_at).map(([id, time]) => [id, Date.parse(time)] as const);
    return new Map(times.filter(([, time]) => !Number.isNaN(time)));
  } catch {
    return new Map();
  }
};

export const readUsed = async (keyFile: string): Promise<ReadonlyMap<string, number>> =>
  readTimes(await usedPath(keyFile));

export const clearUsed = async (keyFile: string): Promise<void> => rm(await usedPath(keyFile), { force: true });

/**
 * Stores when keys were last used. If the file contains a later time for a key, that time is kept.
 * @throws an error from `node:fs`, for example if the folder is read-only
 */
export const mergeUsed = async (keyFile: string, times: ReadonlyMap<string, number>): Promise<void> => {
  const path = await usedPath(keyFile);
  await withFileLock(path, async (confirm) => {
    const merged = await readTimes(path);
    for (const [id, time] of times) merged.set(id, Math.max(time, merged.get(id) ?? time));
    await writeFileAtomic(path, formatUsed(merged), { mode: KEY_FILE_MODE, like: keyFile, beforeCommit: confirm });
  });
};
