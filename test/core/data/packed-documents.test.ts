import { setImmediate } from 'node:timers/promises';
import { expect } from 'chai';
import fc from 'fast-check';
import { collectGarbage } from '../../../adapters/conformance/collect-garbage.js';
import type { Document } from '../../../core/contracts/dataset.js';
import { Arena } from '../../../core/data/arena.js';
import { jsonRows, PackedDocuments } from '../../../core/data/packed-documents.js';

const packed = (batches: readonly (readonly Document[])[]): PackedDocuments => {
  const list = new PackedDocuments();
  for (const batch of batches) {
    const rows = jsonRows(batch);
    list.add(rows);
    // The NDJSON reader reuses its buffer, so the documents must not depend on it.
    rows.json.fill(0);
  }
  return list;
};

const document = fc.dictionary(fc.string(), fc.jsonValue({ maxDepth: 2 }), { maxKeys: 4, noNullPrototype: true });
const batches = fc.array(fc.array(document, { minLength: 1, maxLength: 8 }), { maxLength: 6 });

describe('PackedDocuments', () => {
  it('at(position) and slice(start, end) return the same as an array, for random batches', () => {
    fc.assert(
      fc.property(batches, fc.nat(50), fc.nat(50), (all, start, end) => {
        const list = packed(all);
        const array = JSON.parse(JSON.stringify(all.flat())) as Document[];
        expect(list.length).to.equal(array.length);
        const positions = [...array.keys()].slice(start, end).toReversed();
        expect(list.read(positions)).to.deep.equal(positions.map((position) => array[position]));
        expect(list.json(positions)).to.deep.equal(jsonRows(positions.map((position) => array[position]!)));
      }),
    );
  });

  it('keeps documents on many pages, and a document that is larger than a page', () => {
    const small = Array.from({ length: 20_000 }, (_, i) => ({ i, text: `number ${i} ü` }));
    const large = { i: 20_000, text: 'x'.repeat(500_000) };
    const list = packed([small.slice(0, 700), small.slice(700), [large], [{ i: 20_001 }]]);
    expect(list.length).to.equal(20_002);
    const between = (start: number, end: number) => Array.from({ length: end - start }, (_, i) => start + i);
    // chai takes too long to compare 18,500 documents, so the test compares text.
    expect(JSON.stringify(list.read(between(500, 19_000))) === JSON.stringify(small.slice(500, 19_000))).to.equal(true);
    expect(list.read(between(19_999, 20_002))).to.deep.equal([small[19_999], large, { i: 20_001 }]);
  });

  it('stores all documents in one buffer if their size is known', () => {
    const rows = jsonRows(Array.from({ length: 200 }, (_, i) => ({ i, text: 'x'.repeat(1000) })));
    const batches = 100;
    const buffers = new Set<ArrayBuffer>();
    class ObservedArena extends Arena {
      override bytes(length: number): Buffer<ArrayBuffer> {
        const bytes = super.bytes(length);
        buffers.add(bytes.buffer);
        return bytes;
      }
    }
    const size = PackedDocuments.memoryOf(batches * rows.ends.length, batches * rows.json.length);
    const list = new PackedDocuments(new ObservedArena(size));
    for (let batch = 0; batch < batches; batch++) list.add(rows);
    expect(buffers.size).to.equal(1);
  });

  it('keeps the last document alive, so that V8 keeps its hidden class', async () => {
    const list = packed([[{ value: 1 }, { value: 2 }, { value: 3 }]]);
    const document = new WeakRef(list.read([1])[0]!);
    await setImmediate();
    collectGarbage();
    expect(document.deref()).to.have.property('value');
  });

  it('returns new documents each time, which a reader may change', () => {
    const list = packed([[{ value: 1 }]]);
    (list.read([0])[0] as { value: number }).value = 2;
    expect(list.read([0])).to.deep.equal([{ value: 1 }]);
  });
});
