import { expect } from 'chai';
import { targetOf } from './breakable.js';
import type { BrokenAdapter } from './faults/breaking.js';
import { runSuite } from './run-suite.js';
import { withShortLimits } from './with-short-limits.js';

export const itFailsByItsRules = ({ that, fails, ...breakage }: BrokenAdapter): void => {
  it(`fails an adapter that ${that} for the rule that it breaks`, async () => {
    const { failed } = await withShortLimits(() => runSuite(targetOf(that, breakage), { rules: fails }));
    expect([...failed.keys()].sort()).to.deep.equal([...fails].sort());
  }).timeout(240_000);
};
