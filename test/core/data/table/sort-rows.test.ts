import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import type { Scalar } from '../../../../core/contracts/storage.js';
import { compareScalars } from '../../../../core/data/scalars.js';
import { BlockWriter, type RowBlock } from '../../../../core/data/table/row-block.js';
import { sortRows } from '../../../../core/data/table/sort-rows.js';

const TEXTS = ['', 'a', 'a\0', 'a\u0001', 'ab', 'b', 'é', '\u07ff', '\u0800', '\ud7ff', '\ue000', '\uffff'];
const SURROGATES = ['\u{10000}', '\u{10ffff}', 'a\ud800', 'a\udbff\ue000', '\udc00'];
const NUMBERS = [-1e300, -(2 ** 53), -1.5, -1, -1e-300, 0, 1e-300, 0.1, 1, 255, 256, 65_536, 2 ** 53, 1e300];

describe('sortRows(rows, folder, onRepeated)', () => {
  let folder: string;
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'sort-'));
  });
  after(() => rm(folder, { recursive: true }));

  const refuse = (json: string, line: number, other: number): never => {
    throw new Error(`${json} in lines ${other} and ${line}`);
  };

  interface KeyedRow {
    readonly key: readonly Scalar[];
    readonly line: number;
    readonly json: string;
  }

  const rowsIn = ({ bytes, ends, values }: RowBlock): readonly (readonly unknown[])[] => {
    const width = values.length / ends.length;
    return ends.map((end, i) => [
      bytes.toString('utf8', i === 0 ? 0 : ends[i - 1]! + 1, end),
      ...values.slice(i * width, (i + 1) * width),
    ]);
  };

  const sorted = async (rows: readonly KeyedRow[]): Promise<readonly (readonly unknown[])[]> => {
    async function* blocks() {
      const out = new BlockWriter();
      for (const [i, { key, line, json }] of rows.entries()) {
        out.append(json);
        for (const value of key) out.addKey(value);
        out.values.push(...key, null, true);
        out.endRow(line);
        if (out.isFull || i === rows.length - 1) yield out.take();
      }
    }
    const found: (readonly unknown[])[] = [];
    for await (const block of sortRows(blocks(), folder, refuse)) found.push(...rowsIn(block));
    expect(await readdir(folder)).to.deep.equal([]);
    return found;
  };

  const rowOf = (key: readonly Scalar[], line: number, json = JSON.stringify(key)): KeyedRow => ({ key, line, json });

  const compareKeys = (a: readonly Scalar[], b: readonly Scalar[]): number =>
    a.map((value, i) => compareScalars(value, b[i]!)).find((order) => order !== 0) ?? 0;

  const mixed = (keys: readonly (readonly Scalar[])[]): readonly (readonly Scalar[])[] =>
    keys.map((_, i) => keys[(i * 7919) % keys.length]!);

  it('sorts text and numbers as compareScalars does, and keeps the values of the fields', async () => {
    const texts = [...TEXTS, ...SURROGATES];
    for (const keys of [
      texts.map((text) => [text]),
      NUMBERS.map((number) => [number]),
      texts.flatMap((text) => NUMBERS.map((number) => [text, number])),
      NUMBERS.flatMap((number) => texts.map((text) => [number, text])),
    ]) {
      const found = await sorted(mixed(keys).map((key, i) => rowOf(key, i + 1)));
      const expected = keys.toSorted(compareKeys).map((key) => [JSON.stringify(key), ...key, null, true]);
      expect(found).to.deep.equal(expected);
    }
  });

  it('merges runs from a temporary file, with rows that are larger than a block and than a run', async () => {
    const keys = mixed(Array.from({ length: 8000 }, (_, i) => [`key ${String(i).padStart(5, '0')}`, i - 4000]));
    const long = (i: number): string => 'é'.repeat(i === 5000 ? 12_000_000 : i % 1000 === 0 ? 400_000 : 4000);
    const rows = keys.map((key, i) => rowOf(key, i + 1, long(key[1] as number)));
    const found = await sorted(rows);
    expect(found.map(([, name]) => name)).to.deep.equal(keys.map(([name]) => name).toSorted());
    expect(found.every(([json, , number]) => json === long(number as number))).to.equal(true);
  });

  for (const [where, bytes] of [
    ['memory', 10],
    ['different runs', 20_000],
  ] as const) {
    it(`reports the lines of two rows with the same key in ${where}, in the order of the file`, async () => {
      const rows = Array.from({ length: 4000 }, (_, i) => rowOf([4000 - i], i + 1, 'x'.repeat(bytes)));
      rows.push(rowOf([17], 5000, '{}'), rowOf([3000], 5001, '{}'));
      const message = await sorted(rows).catch((error: Error) => error.message);
      expect(message).to.equal('{} in lines 3984 and 5000');
    });
  }
});
