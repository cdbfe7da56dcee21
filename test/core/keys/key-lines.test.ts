import { type FileHandle, mkdtemp, open, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import fc from 'fast-check';
import type { KeyRecord } from '../../../core/contracts/keys.js';
import { parseKeyFile } from '../../../core/keys/key-file.js';
import { KeyLines } from '../../../core/keys/key-lines.js';
import { withChange } from '../../../core/keys/key-table.js';
import { formatKeyFile } from '../../support/key-file.js';
import { newRecord } from '../../support/key-record.js';

const pool = Array.from({ length: 12 }, (_, i) =>
  newRecord({ id: `key_${i}`, hash: String(i % 10).repeat(64), name: i % 3 === 0 ? 'é, "\n' : `name ${i}` }),
);
const files = fc.uniqueArray(fc.constantFrom(...pool), { selector: ({ hash }) => hash, maxLength: 8 });
const edit = fc.record({ limit_per_minute: fc.constantFrom(null, 5, 50) });

const read = (content: string): readonly KeyRecord[] | undefined => {
  try {
    return parseKeyFile('keys.json', content);
  } catch {
    return undefined;
  }
};

const BLOCK_BYTES = 500;

const write = async (file: FileHandle, content: string): Promise<void> => {
  await file.truncate();
  await file.write(content, 0);
};

const changed = async (
  file: FileHandle,
  before: readonly KeyRecord[],
  ...contents: string[]
): Promise<readonly KeyRecord[] | undefined> => {
  await write(file, formatKeyFile(before));
  let { lines, records } = (await KeyLines.read(file, BLOCK_BYTES))!;
  expect(records).to.deep.equal(before);
  for (const content of contents) {
    await write(file, content);
    const change = await lines.changeTo(file, records);
    const next = change && withChange(records, change);
    if (!next) return undefined;
    [lines, records] = [change.lines, next];
  }
  return records;
};

describe('KeyLines', () => {
  let folder: string;
  let file: FileHandle;
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'keys-'));
    file = await open(join(folder, 'keys.json'), 'w+');
  });
  after(async () => {
    await file.close();
    await rm(folder, { recursive: true });
  });

  it('finds every change that commands make to a file', async () => {
    await fc.assert(
      fc.asyncProperty(files, files, files, edit, async (before, between, after, part) => {
        const [first, ...rest] = after;
        const content = formatKeyFile(first ? [{ ...first, ...part }, ...rest] : after);
        expect(await changed(file, before, formatKeyFile(between), content)).to.deep.equal(read(content));
      }),
      { numRuns: 500 },
    );
  });

  it('finds only changes that reading the whole file finds, for any edit', async () => {
    const piece = fc.constantFrom('', ',', '\n', '{', '}', ' ', 'x', '\n    {}', ',\n', JSON.stringify(pool[0]));
    await fc.assert(
      fc.asyncProperty(files, fc.nat(2000), fc.nat(400), piece, async (before, at, size, text) => {
        const content = formatKeyFile(before);
        const edited = content.slice(0, at) + text + content.slice(at + size);
        const found = await changed(file, before, edited);
        if (found) expect(found).to.deep.equal(read(edited));
      }),
      { numRuns: 1500 },
    );
  });

  it('reports the neighbouring lines that changed, and the index of the first', async () => {
    const before = pool.slice(0, 5);
    await write(file, formatKeyFile(before));
    const { lines } = (await KeyLines.read(file))!;
    const next = { ...pool[2]!, limit_per_minute: 7 };
    await write(file, formatKeyFile(before.with(2, next)));
    const change = await lines.changeTo(file, before);
    expect(change).to.deep.include({ at: 2, removed: [pool[2]], added: [next] });
  });

  it('rejects a file that was written by hand or contains an error', async () => {
    for (const content of [
      JSON.stringify({ format: 1, keys: [pool[0]] }),
      formatKeyFile(pool.slice(0, 2)).replace('"enterprise"', '7'),
      formatKeyFile(pool.slice(0, 2)).replace('},\n', '}\n'),
      formatKeyFile(pool.slice(0, 2)).slice(0, -3),
      '',
    ]) {
      await write(file, content);
      expect(await KeyLines.read(file), content).to.equal(undefined);
    }
  });
});
