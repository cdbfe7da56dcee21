import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import type { Scalar } from '../../../../core/contracts/storage.js';
import { compareScalars } from '../../../../core/data/scalars.js';
import { LineSplitter } from '../../../../core/data/table/csv.js';
import type { Row } from '../../../../core/data/table/rows.js';
import { sortRows } from '../../../../core/data/table/sort-rows.js';

const TEXTS = ['', 'a', 'a\0', 'a\u0001', 'ab', 'b', 'é', '\u07ff', '\u0800', '\ud7ff', '\ue000', '\uffff'];
const SURROGATES = ['\u{10000}', '\u{10ffff}', 'a\ud800', 'a\udbff\ue000', '\udc00'];
const NUMBERS = [-1e300, -(2 ** 53), -1.5, -1, -1e-300, 0, 1e-300, 0.1, 1, 255, 256, 65_536, 2 ** 53, 1e300];

describe('sortRows(batches, folder, dialect)', () => {
  let folder: string;
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'sort-'));
  });
  after(() => rm(folder, { recursive: true }));

  const DIALECT = { separator: ',', quote: '"', lineEnd: '\n' } as const;
  const BATCH = 1000;

  const sorted = async (rows: readonly Row[], keys: readonly (readonly Scalar[])[]): Promise<readonly Row[]> => {
    async function* batches() {
      for (let start = 0; start < rows.length; start += BATCH) {
        const end = start + BATCH;
        yield { rows: rows.slice(start, end), keys: keys.slice(start, end).flat() };
      }
    }
    const found: Row[] = [];
    for await (const batch of sortRows(batches(), folder, DIALECT)) found.push(...batch);
    expect(await readdir(folder)).to.deep.equal([]);
    return found;
  };

  const compareKeys = (a: readonly Scalar[], b: readonly Scalar[]): number =>
    a.map((value, i) => compareScalars(value, b[i]!)).find((order) => order !== 0) ?? 0;

  const mixed = <T>(all: readonly T[]): readonly T[] => all.map((_, i) => all[(i * 7919) % all.length]!);

  it('sorts text and numbers as compareScalars does, and keeps the cells', async () => {
    const texts = [...TEXTS, ...SURROGATES];
    for (const all of [
      texts.map((text) => [text]),
      NUMBERS.map((number) => [number]),
      texts.flatMap((text) => NUMBERS.map((number) => [text, number])),
      NUMBERS.flatMap((number) => texts.map((text) => [number, text])),
    ]) {
      const keys = mixed<readonly Scalar[]>(all);
      const found = await sorted(
        keys.map((key, i) => ({ line: i + 1, cells: [...key, null, true] })),
        keys,
      );
      expect(found.map(({ cells }) => cells)).to.deep.equal(
        all.toSorted(compareKeys).map((key) => [...key, null, true]),
      );
    }
  });

  it('keeps lines with quotes, other characters and unpaired surrogates, and their numbers', async () => {
    const lines = ['c,"x, y",1', 'a,é\u{10000}漢,', 'b,a\ud800,"2"', '"d","two', 'lines",3', 'e,say "hi",4'];
    const rows = new LineSplitter(DIALECT, 7).push(`${lines.join('\n')}\n`);
    const found = await sorted(rows, [['c'], ['a'], ['b'], ['d'], ['e']]);
    expect(found.map(({ line, cells }) => [line, ...cells])).to.deep.equal([
      [8, 'a', 'é\u{10000}漢', ''],
      [9, 'b', 'a\ud800', '2'],
      [7, 'c', 'x, y', '1'],
      [10, 'd', 'two\nlines', '3'],
      [12, 'e', 'say "hi"', '4'],
    ]);
  });

  it('sorts keys that differ only after a million characters, and equal keys of this length', async () => {
    const keys = ['c', 'b', 'a', 'b'].map((last) => [`${'x'.repeat(1_000_000)}${last}`]);
    const found = await sorted(
      keys.map((_, i) => ({ line: i + 1, cells: [i] })),
      keys,
    );
    expect(found.map(({ line }) => line)).to.deep.equal([3, 2, 4, 1]);
  });

  it('merges runs from a temporary file, with rows that are larger than a block and than a run', async () => {
    const keys = mixed(Array.from({ length: 8000 }, (_, i) => [`key ${String(i).padStart(5, '0')}`, i - 4000]));
    const long = (i: number): string => 'é'.repeat(i === 5000 ? 12_000_000 : i % 1000 === 0 ? 400_000 : 4000);
    const found = await sorted(
      keys.map((key, i) => ({ line: i + 1, cells: [...key, long(key[1] as number)] })),
      keys,
    );
    expect(found.map(({ cells: [name] }) => name)).to.deep.equal(keys.map(([name]) => name).toSorted());
    expect(found.every(({ cells: [, number, text] }) => text === long(number as number))).to.equal(true);
  });

  for (const [where, length] of [
    ['memory', 10],
    ['different runs', 20_000],
  ] as const) {
    it(`keeps rows with the same key in ${where} in the order of the file`, async () => {
      const keys = Array.from({ length: 4000 }, (_, i) => [4000 - i]);
      keys.push([17], [3000]);
      const rows = keys.map((_, i) => ({ line: i + 1, cells: ['x'.repeat(length)] }));
      const found = (await sorted(rows, keys)).map(({ line }) => line);
      expect(found.slice(16, 18)).to.deep.equal([3984, 4001]);
      expect(found.slice(3000, 3002)).to.deep.equal([1001, 4002]);
    });
  }
});
