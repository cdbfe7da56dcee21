/** What a replica tells Redis of its admissions: never too little, and nothing twice. */
import { expect } from 'chai';
import { Ledger } from '../../../core/limiter/ledger.js';

const WINDOW = 60_000;
const GRAIN = 1000;

const ledger = (): Ledger => new Ledger(WINDOW, GRAIN);

describe('Ledger', () => {
  it('expects Redis at the last call that counted something within the window', () => {
    const known = ledger();
    expect(known.expected(0)).to.equal(0);
    expect(known.isEmpty(0)).to.equal(true);
    known.settle(3);
    known.add(3, 0, 2);
    known.settle(4);
    known.add(4, 5000, 1);
    known.settle(5);
    expect(known.expected(5000)).to.equal(4);
    expect(known.expected(WINDOW + 4999)).to.equal(4);
    expect(known.isEmpty(WINDOW + 4999)).to.equal(false);
    expect(known.expected(WINDOW + 5000)).to.equal(0);
    expect(known.isEmpty(WINDOW + 5000)).to.equal(true);
  });

  it('reports nothing while Redis stands where it should', () => {
    const known = ledger();
    known.settle(3);
    known.add(3, 0, 2);
    expect(known.report(4, 10)).to.deep.equal([]);
    expect(known.report(4, 10, 3)).to.deep.equal([]);
  });

  it('knows nothing of a call that admitted none', () => {
    const known = ledger();
    known.settle(3);
    known.add(3, 0, 0);
    known.addPending(0, 0);
    expect(known.isEmpty(0)).to.equal(true);
  });

  it('reports what Redis has lost, with its age, but for what has left the window', () => {
    const known = ledger();
    for (const [call, at] of [
      [1, 0],
      [2, 2000],
      [3, 4000],
    ] as const) {
      known.settle(call);
      known.add(call, at, call * 10);
    }
    expect(known.report(4, 5000, 0)).to.deep.equal([
      { call: 1, ageMs: 5000, count: 10 },
      { call: 2, ageMs: 3000, count: 20 },
      { call: 3, ageMs: 1000, count: 30 },
    ]);
    expect(known.report(4, 5000, 2)).to.deep.equal([{ call: 3, ageMs: 1000, count: 30 }]);
    expect(known.report(4, WINDOW + 1999, 0).map(({ call }) => call)).to.deep.equal([2, 3]);
    expect(known.report(4, WINDOW + 2000, 0).map(({ call }) => call)).to.deep.equal([3]);
  });

  it('hands what was admitted alone to the next call, once', () => {
    const known = ledger();
    known.settle(3);
    known.addPending(0, 1);
    known.addPending(10, 2);
    expect(known.expected(10)).to.equal(0);
    expect(known.report(4, 20)).to.deep.equal([{ call: 4, ageMs: 10, count: 3 }]);
    known.settle(4);
    expect(known.expected(20)).to.equal(4);
    expect(known.report(5, 20)).to.deep.equal([]);
  });

  it('reports a call again whose reply was lost, also where Redis stands at it: how much it counted is in doubt', () => {
    const known = ledger();
    known.settle(3);
    known.add(4, 0, 2);
    expect(known.report(5, 10, 3)).to.deep.equal([{ call: 4, ageMs: 10, count: 2 }]);
    expect(known.report(5, 10, 4)).to.deep.equal([]);
    known.addPending(5, 1);
    expect(known.report(5, 10, 4)).to.deep.equal([
      { call: 4, ageMs: 10, count: 2 },
      { call: 5, ageMs: 5, count: 1 },
    ]);
    known.settle(5);
    expect(known.report(6, 10)).to.deep.equal([]);
  });

  it('keeps admissions of one grain as one, dated by the latest, where they are of one call or all counted', () => {
    const known = ledger();
    known.settle(1);
    known.add(1, 0, 1);
    known.settle(2);
    known.add(2, 999, 1);
    expect(known.report(3, 1000, 0)).to.deep.equal([{ call: 2, ageMs: 1, count: 2 }]);
    known.settle(3);
    known.add(3, 1000, 1);
    expect(known.report(4, 1000, 0)).to.deep.equal([
      { call: 2, ageMs: 1, count: 2 },
      { call: 3, ageMs: 0, count: 1 },
    ]);
    known.add(4, 1001, 5);
    known.add(4, 1002, 5);
    known.add(5, 1003, 5);
    expect(known.report(6, 1003, 3)).to.deep.equal([
      { call: 4, ageMs: 1, count: 10 },
      { call: 5, ageMs: 0, count: 5 },
    ]);
  });

  it('begins a new entry where the last one has left the window, though the grain is the same', () => {
    const known = new Ledger(500, GRAIN);
    known.settle(1);
    known.add(1, 0, 7);
    known.settle(2);
    known.add(2, 500, 1);
    expect(known.report(3, 500, 0)).to.deep.equal([{ call: 2, ageMs: 0, count: 1 }]);
  });
});
