/** Proves that the conformance suite finds each fault by the test that names it, and finds none where none is. */
import { expect } from 'chai';
import { memoryTarget } from './breakable-memory.js';
import { brokenAdapters } from './faults/index.js';
import { runSuite } from './run-suite.js';

describe('the conformance suite', () => {
  it('passes an adapter without a fault, and skips nothing of one that can do everything', async () => {
    const { failed, skipped, passed } = await runSuite(memoryTarget('memory'));
    expect([...failed]).to.deep.equal([]);
    expect(skipped).to.equal(0);
    expect(passed).to.be.greaterThan(80);
  });

  for (const { that, fails, ...breakage } of brokenAdapters) {
    it(`fails an adapter that ${that}`, async () => {
      const { failed } = await runSuite(memoryTarget(that, breakage));
      expect([...failed.keys()].sort()).to.deep.equal([...fails].sort());
    });
  }
});
