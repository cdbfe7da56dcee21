import { expect } from 'chai';
import fc from 'fast-check';
import { compareBy, compareScalars } from '../../../core/data/scalars.js';

describe('compareScalars(a, b)', () => {
  it('orders strings as their UTF-8 bytes do', () => {
    const text = fc.string({ unit: 'binary' });
    fc.assert(
      fc.property(text, text, (a, b) => {
        expect(Math.sign(compareScalars(a, b))).to.equal(Buffer.compare(Buffer.from(a), Buffer.from(b)));
      }),
    );
  });

  it('puts characters outside the BMP last, unlike UTF-16', () => {
    const sorted = ['', '\0', 'a', 'a\0', 'aa', 'é', '\ud7ff', '\ue000', '\uffff', '😀', '\u{10ffff}'];
    expect([...sorted].reverse().sort(compareScalars)).to.deep.equal(sorted);
    expect([...sorted].sort()).to.not.deep.equal(sorted);
  });

  it('distinguishes two normal forms of a letter', () => {
    expect(compareScalars('e\u0301', '\u00e9')).to.be.lessThan(0);
  });

  it('orders numbers by value, with -0 equal to 0', () => {
    const sorted = [-Number.MAX_VALUE, -1, -Number.MIN_VALUE, 0, Number.MIN_VALUE, 0.1, 9, 10, Number.MAX_VALUE];
    expect([...sorted].reverse().sort(compareScalars)).to.deep.equal(sorted);
    expect(compareScalars(-0, 0)).to.equal(0);
  });

  it('puts numbers before strings', () => {
    expect(compareScalars(10, '')).to.be.lessThan(0);
    expect(compareScalars('', 10)).to.be.greaterThan(0);
  });
});

describe('compareBy(fields)', () => {
  it('compares by the first field that differs', () => {
    const compare = compareBy(['b', 'a']);
    expect(compare({ a: 2, b: 1 }, { a: 1, b: 2 })).to.be.lessThan(0);
    expect(compare({ a: 2, b: 1 }, { a: 1, b: 1 })).to.be.greaterThan(0);
    expect(compare({ a: 1, b: 1, c: 1 }, { a: 1, b: 1, c: 2 })).to.equal(0);
  });
});
