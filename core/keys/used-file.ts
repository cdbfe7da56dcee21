/**
 * When keys were used last: `<key file>.used.json`, beside the key file. A file of its own, since it is written every
 * few minutes: in the key file it would collide with edits and make every process read all keys again.
 */
import { withFileLock } from '../files/lock.js';
import { readRegular } from '../files/regular.js';
import { writeFileAtomic } from '../files/write-atomic.js';
import { besideKeyFile, modeOfKeyFile } from './key-file.js';

const pathOf = (keyFile: string): Promise<string> => besideKeyFile(keyFile, 'used.json');

/** One key a line. */
const format = (times: ReadonlyMap<string, number>): string => {
  const lines = [...times].map(([id, time]) => `\n    ${JSON.stringify(id)}: "${new Date(time).toISOString()}"`);
  return `{\n  "format": 1,\n  "last_used_at": {${lines.join(',')}\n  }\n}\n`;
};

const read = async (path: string): Promise<Map<string, number>> => {
  try {
    const { last_used_at } = JSON.parse(await readRegular(path)) as { last_used_at: Record<string, string> };
    const times = Object.entries(last_used_at).map(([id, time]) => [id, Date.parse(time)] as const);
    return new Map(times.filter(([, time]) => !Number.isNaN(time)));
  } catch {
    // Missing, damaged or unreadable: then it is not known when keys were used.
    return new Map();
  }
};

/** By id, in milliseconds since 1970. Keys without a known time are left out. */
export const readUsed = async (keyFile: string): Promise<ReadonlyMap<string, number>> => read(await pathOf(keyFile));

/** Keeps of each key the later time. Rejects with what `node:fs` does, where the folder can only be read, say. */
export const mergeUsed = async (keyFile: string, times: ReadonlyMap<string, number>): Promise<void> => {
  const path = await pathOf(keyFile);
  const mode = await modeOfKeyFile(keyFile);
  await withFileLock(path, async (lock) => {
    const merged = await read(path);
    for (const [id, time] of times) merged.set(id, Math.max(time, merged.get(id) ?? time));
    await writeFileAtomic(path, format(merged), { mode, beforeCommit: lock.confirm });
  });
};
