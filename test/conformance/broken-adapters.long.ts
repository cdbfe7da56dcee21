/** Proves that the whole suite ends for each broken adapter, and fails it by the rule that it breaks. */
import { expect } from 'chai';
import { targetOf } from './breakable.js';
import { brokenAdapters } from './faults/index.js';
import { runSuite } from './run-suite.js';

describe('the whole of the conformance suite', () => {
  for (const { that, fails, ...breakage } of brokenAdapters) {
    it(`fails an adapter that ${that}, and passes it by other rules`, async () => {
      const { failed, passed } = await runSuite(targetOf(that, breakage));
      expect([...failed.keys()]).to.include.members([...fails]);
      expect(passed).to.be.greaterThan(0);
    }).timeout(240_000);
  }
});
