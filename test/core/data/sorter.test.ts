import { expect } from 'chai';
import fc from 'fast-check';
import { Arena } from '../../../core/data/arena.js';
import { jsonRows } from '../../../core/data/packed-documents.js';
import { compareBy } from '../../../core/data/scalars.js';
import { orderName } from '../../../core/data/sorted-positions.js';
import { Sorter } from '../../../core/data/sorter.js';

type Row = Record<'text' | 'number', string | number>;

function* sort(rows: readonly Row[], fields: readonly (keyof Row)[]): Generator<void, Uint32Array> {
  const collection = { name: 'rows', schema: {}, key: ['id'], orders: [[...fields, 'id']] };
  const sorter = new Sorter(collection, 0);
  const arena = new Arena();
  sorter.add(jsonRows(rows));
  const positions = yield* sorter.sort(arena);
  return positions.get(orderName([...fields, 'id']))!;
}

const run = (steps: Generator<void, Uint32Array>): { positions: Uint32Array; count: number } => {
  let count = 0;
  let step = steps.next();
  for (; !step.done; step = steps.next()) count++;
  return { positions: step.value, count };
};

const sorted = (rows: readonly Row[], fields: readonly (keyof Row)[]): number[] =>
  [...rows.keys()].sort((a, b) => compareBy(fields)(rows[a]!, rows[b]!) || a - b);

const texts = fc.oneof(
  fc.string({ unit: 'binary' }),
  fc.constantFrom('', 'a', 'a\0', 'a\0\0', 'commercial', 'commercial use', 'commercial user', '\uffff', '😀', '"\\\n'),
);
const numbers = fc.oneof(
  fc.double({ noNaN: true, noDefaultInfinity: true }),
  fc.integer({ min: -300, max: 300 }),
  fc.constantFrom(0, -0, 0.1, -0.1, 1e21, -1e21, 5e-324, 994822.95, 999999999999999, 9007199254740991),
);
const random = fc.array(fc.record({ text: texts, number: numbers }), { maxLength: 700 });

describe('Sorter', () => {
  for (const fields of [['text'], ['number'], ['number', 'text'], ['text', 'number']] as const) {
    it(`sorts random rows by ${fields.join(' and ')}, and keeps the order of equal rows`, () => {
      fc.assert(
        fc.property(random, (rows) => {
          const { positions } = run(sort(rows, fields));
          expect([...positions]).to.deep.equal(sorted(rows, fields));
        }),
      );
    });
  }

  it('sorts many values that share their first bytes, in many steps', () => {
    const rows = Array.from({ length: 30_000 }, (_, i) => {
      const number = (i * 7919) % 29_989;
      return { text: `Applicant number ${number % 5000}`, number: number / 8 - 5000 };
    });
    for (const field of ['text', 'number'] as const) {
      const { positions, count } = run(sort(rows, [field]));
      expect(String(positions) === String(sorted(rows, [field]))).to.equal(true);
      expect(count).to.be.greaterThan(80);
    }
  });

  it('sorts values of many sizes, up to a megabyte', () => {
    const rows = Array.from({ length: 300 }, (_, i) => ({ text: 'x'.repeat((i * 7919) % 1000), number: i }));
    rows.push({ text: 'x'.repeat(1_000_000), number: 300 });
    const { positions } = run(sort(rows, ['text']));
    expect([...positions]).to.deep.equal(sorted(rows, ['text']));
  });

  it('needs less than 32 KB for a few rows', () => {
    const sorters: Sorter[] = [];
    const before = process.memoryUsage().arrayBuffers;
    for (let i = 0; i < 200; i++) {
      const sorter = new Sorter({ name: 'rows', schema: {}, key: ['id'], orders: [['text', 'number', 'id']] }, 0);
      sorter.add(jsonRows([{ text: 'a', number: i }]));
      sorters.push(sorter);
    }
    const used = process.memoryUsage().arrayBuffers - before;
    expect(used / sorters.length).to.be.lessThan(32 * 1024);
  });
});
