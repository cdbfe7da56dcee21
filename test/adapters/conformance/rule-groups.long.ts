/**
 * Runs all tests of a group on the first broken adapter of each class. Its rules must also fail after the other tests of
 * the group, which share an adapter with them in some groups. Other tests may fail too.
 */
import { expect } from 'chai';
import { targetOf } from './breakable.js';
import { triedOften } from './faults/index.js';
import { runSuite } from './run-suite.js';
import { withShortLimits } from './with-short-limits.js';

describe('the groups of tests of the conformance suite', () => {
  for (const { that, fails, ...breakage } of triedOften) {
    it(`fail an adapter that ${that}, at least for the expected rules`, async () => {
      const run = () => runSuite(targetOf(that, breakage), { rules: fails, groups: true });
      const { failed } = await withShortLimits(run);
      expect([...failed.keys()]).to.include.members([...fails]);
    }).timeout(240_000);
  }
});
