/** Runs the suite on all correct adapters, and the expected rules on the broken adapters that `npm test` omits. */
import { expect } from 'chai';
import { targetOf } from './breakable.js';
import { brokenAdapters, triedOften } from './faults/index.js';
import { itFailsByItsRules } from './it-fails-by-its-rules.js';
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

  for (const adapter of brokenAdapters) if (!triedOften.includes(adapter)) itFailsByItsRules(adapter);
});
