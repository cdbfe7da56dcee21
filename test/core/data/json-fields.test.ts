import { expect } from 'chai';
import fc from 'fast-check';
import { JsonFields } from '../../../core/data/json-fields.js';
import { compareScalars } from '../../../core/data/scalars.js';

const scalars = fc.oneof(
  fc.string({ unit: 'binary' }).map((text) => text.toWellFormed()),
  fc.double({ noNaN: true, noDefaultInfinity: true }).map((number) => number + 0),
);
const names = fc.oneof(fc.string(), fc.constantFrom('a ', 'aa', '"a"', '\\', '{', 'A'));
const others = fc.dictionary(names, fc.jsonValue({ maxDepth: 3 }), { noNullPrototype: true });
const documents = fc.tuple(others, scalars, scalars, fc.boolean(), fc.constantFrom(0, 1)).map(([rest, a, b, first]) => {
  const { a: _, b: __, ...more } = rest;
  return first ? { b, ...more, a } : { a, b, ...more };
});

describe('JsonFields', () => {
  it('finds the values of fields in documents of any shape, with or without spaces', () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(documents, fc.nat(2)), { minLength: 1 }), (given) => {
        const fields = new JsonFields(['b', 'a']);
        for (const [document, spaces] of given) {
          const text = JSON.stringify(document, null, spaces).replaceAll('\n', ' ');
          const json = Buffer.from(`${text},${text}`);
          const start = Buffer.byteLength(text) + 1;
          const { a, b } = document;
          expect(fields.document(json, start)).to.deep.equal({ b, a });
          expect(fields.compare(json, start, [b!, a!])).to.equal(0);
        }
      }),
    );
  });

  it('compares a value in JSON like the value itself', () => {
    const texts = fc.string({
      unit: fc.constantFrom('a', 'b', '"', '\\', '\n', '\u007f', 'é', '\uffff', '😀'),
      maxLength: 4,
    });
    const fields = new JsonFields(['a']);
    fc.assert(
      fc.property(fc.oneof(texts, scalars), fc.oneof(texts, scalars), fc.boolean(), (a, other, isEscaped) => {
        const text = JSON.stringify({ a });
        const ascii = text.replace(/[^ -~]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);
        const order = fields.compare(Buffer.from(isEscaped ? ascii : text), 0, [other]);
        expect(Math.sign(order)).to.equal(Math.sign(compareScalars(a, other)));
      }),
      { numRuns: 2000 },
    );
  });

  it('returns each of 5,000 different strings, including strings that share a place in the cache', () => {
    const fields = new JsonFields(['name']);
    for (const round of [1, 2]) {
      for (let i = 0; i < 5000; i++) {
        const name = `é ${i}`;
        expect(fields.document(Buffer.from(JSON.stringify({ name })), 0), `round ${round}`).to.deep.equal({ name });
      }
    }
  });

  it('finds names that are written with escapes', () => {
    const json = Buffer.from(String.raw`{"other":1,"\u0061":2}`);
    expect(new JsonFields(['a']).document(json, 0)).to.deep.equal({ a: 2 });
  });

  it('stops at the end of a document that lacks a field', () => {
    const fields = new JsonFields(['a', 'b']);
    fields.find(Buffer.from('{"a":1},{"b":2}'), 0);
    fields.find(Buffer.from('{}'), 0);
  });
});
