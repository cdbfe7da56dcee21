/** Runs the suite on all correct adapters. */
import { expect } from 'chai';
import { targetOf } from './breakable.js';
import { rightAdapters } from './right-adapters.js';
import { runSuite } from './run-suite.js';

describe('the conformance suite', () => {
  for (const { that, ...right } of rightAdapters) {
    it(`passes a correct adapter that ${that}, and states a reason for each skipped test`, async () => {
      const { failed, passed, skipped } = await runSuite(targetOf(that, right));
      expect([...failed]).to.deep.equal([]);
      expect(passed).to.be.greaterThan(150);
      for (const title of skipped) expect(title).to.match(/\(skipped: .+\)$/);
    }).timeout(600_000);
  }
});
