/**
 * Runs the conformance suite for all broken adapters. For one adapter of each class, runs the whole suite, which must
 * fail only by the expected rules.
 */
import { expect } from 'chai';
import { targetOf } from './breakable.js';
import type { BrokenAdapter } from './faults/breaking.js';
import { brokenAdapters, classes, triedOften } from './faults/index.js';
import { itFailsByItsRules } from './it-fails-by-its-rules.js';
import { runSuite } from './run-suite.js';

describe('the conformance suite', () => {
  it('passes the correct memory adapter, and skips only tests of durable stores and audits', async () => {
    const { failed, skipped, passed } = await runSuite(targetOf('memory'));
    expect([...failed]).to.deep.equal([]);
    expect(skipped).to.equal(21);
    expect(passed).to.be.greaterThan(150);
  }).timeout(180_000);

  it('passes the correct SQLite adapter, and skips only the tests of stored JSON', async () => {
    const { failed, skipped, passed } = await runSuite(targetOf('sqlite', { sqlite: {} }));
    expect([...failed]).to.deep.equal([]);
    expect(skipped).to.equal(5);
    expect(passed).to.be.greaterThan(170);
  }).timeout(180_000);

  for (const adapter of brokenAdapters) if (!triedOften.includes(adapter)) itFailsByItsRules(adapter);
});

describe('the whole conformance suite', () => {
  for (const [first] of Object.values(classes)) {
    const { that, fails, ...breakage } = first as BrokenAdapter;
    it(`fails an adapter that ${that} by the expected rules only`, async () => {
      const { failed, passed } = await runSuite(targetOf(that, breakage));
      expect([...failed.keys()]).to.include.members([...fails]);
      expect(passed).to.be.greaterThan(0);
    }).timeout(240_000);
  }
});
