/**
 * Runs the whole suite on the first broken adapter of each class. An adapter must fail all its expected rules, and may
 * fail others. These tests mostly wait, so mocha runs them at the same time as the tests of broken-adapters.long.ts.
 */
import { expect } from 'chai';
import { targetOf } from './breakable.js';
import { triedOften } from './faults/index.js';
import { runSuite } from './run-suite.js';

describe('the whole conformance suite', () => {
  for (const { that, fails, ...breakage } of triedOften) {
    it(`fails an adapter that ${that}, at least for the expected rules`, async () => {
      const { failed, passed } = await runSuite(targetOf(that, breakage));
      expect([...failed.keys()]).to.include.members([...fails]);
      expect(passed).to.be.greaterThan(0);
    }).timeout(240_000);
  }
});
