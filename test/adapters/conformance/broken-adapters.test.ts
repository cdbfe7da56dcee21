import { expect } from 'chai';
import memory from '../../../adapters/memory.js';
import { targetOf } from './breakable.js';
import { auditRules, auditWithoutFault } from './faults/audits.js';
import { brokenAdapters, classes, triedOften } from './faults/index.js';
import { totalsRules } from './faults/totals.js';
import { itFailsByItsRules } from './it-fails-by-its-rules.js';
import { slowAdapters } from './right-adapters.js';
import { runSuite } from './run-suite.js';

describe('the conformance suite', () => {
  it('is tested with at least three bugs of each class', () => {
    for (const [name, broken] of Object.entries(classes)) expect(broken.length, name).to.be.at.least(3);
    expect(brokenAdapters.filter(({ sqlite }) => sqlite)).to.have.length.of.at.least(30);
    expect(new Set(brokenAdapters.map(({ that }) => that)).size).to.equal(brokenAdapters.length);
  });

  it('passes an adapter with a correct audit', async () => {
    const { failed } = await runSuite(targetOf('audits', auditWithoutFault), { rules: auditRules });
    expect([...failed.keys()]).to.deep.equal([]);
  });

  it('does not open a second adapter if the data might be only in the memory of the first one', async () => {
    const { durable, ...capabilities } = memory.capabilities;
    const rules = [
      'several adapters over the same store notice a change after a while without changes',
      'versions with similar or equal rows are deleted independently',
      'versions with similar names stay whole when another is deleted, or its publication fails',
    ];
    const { passed, failed, skipped } = await runSuite(targetOf('does not declare durable', { capabilities }), {
      rules,
    });
    expect([passed, ...failed.values()]).to.deep.equal([2]);
    expect(skipped).to.have.length(1);
    expect(skipped[0]).to.include('the adapter does not declare "durable"');
  });

  it('publishes nothing for a group of tests that are all skipped', async () => {
    const capabilities = { publish: false, versions: false, durable: false };
    const target = targetOf('declares no optional capability', { capabilities });
    let created = 0;
    const counted = {
      ...target,
      create(...given: Parameters<typeof target.create>) {
        created++;
        return target.create(...given);
      },
    };
    const titles = [
      ['totals', 'totals(collection, query) returns at most limit groups'],
      ['search', 'find(collection, query) with words yields the documents that contain all words, in order'],
      ['json', 'findJson(collection, query) yields text that does not change after it was yielded'],
    ];
    const rules = titles.map(
      ([name, title]) => `${title} (skipped: the adapter does not declare the capability "${name}")`,
    );
    const { skipped } = await runSuite(counted, { rules });
    expect([skipped.length, created]).to.deep.equal([3, 0]);
  });

  for (const { that, rules, ...slow } of slowAdapters) {
    it(`passes an adapter that ${that}`, async () => {
      const { passed, failed } = await runSuite(targetOf(that, slow), { rules });
      expect([passed, ...failed.values()]).to.deep.equal([rules.length]);
    }).timeout(60_000);
  }

  for (const adapter of triedOften) itFailsByItsRules(adapter);

  it('fails an adapter that sorts the conditions that it receives, even if other tests used the conditions', async () => {
    const that = 'sorts the conditions that it receives';
    const { fails, ...breakage } = brokenAdapters.find((each) => each.that === that)!;
    const { failed } = await runSuite(targetOf(that, breakage), { rules: [...totalsRules, ...fails] });
    expect([...failed.keys()]).to.deep.equal([...fails]);
  }).timeout(60_000);
});

describe('the generated rules of the conformance suite', () => {
  const DATASETS = 'generated datasets are returned as they were published, by get() and by any query';

  for (const [that, documents] of [
    ['excludes its upper bound', 1],
    ['trims strings', 1],
    ['reverses only the last field of an order', 2],
    ['applies the limit before it reverses the order', 1],
  ] as const) {
    it(`fail an adapter that ${that}, and show the smallest dataset that proves it`, async () => {
      const { fails, ...breakage } = brokenAdapters.find((each) => each.that === that)!;
      const { failed } = await runSuite(targetOf(that, breakage), { rules: [DATASETS] });
      const message = failed.get(DATASETS)?.message ?? '';
      const [, published = 'null'] = /^ {2}published: (.*)$/m.exec(message) ?? [];
      expect(JSON.parse(published), message).to.have.length.within(documents, documents + 2);
    }).timeout(60_000);
  }

  it('print the steps of the smallest sequence that fails, even if a later sequence passes', async () => {
    const that = 'lists the oldest version first';
    const rule = 'any sequence of publications, activations, deletions and reads has the same result as the model';
    const { fails, ...breakage } = brokenAdapters.find((each) => each.that === that)!;
    const { failed } = await runSuite(targetOf(that, breakage), { rules: [rule] });
    const message = failed.get(rule)?.message ?? '';
    const steps = [...message.matchAll(/^ {2}\d+\. (.*)$/gm)].map(([, step]) => step!);
    expect(steps, message).to.have.length(2);
    const published = steps.map((step) => /^adapter 1 publishes "(\w)"/.exec(step)?.[1]);
    expect(new Set(published), message).to.have.property('size', 2);
    expect(published, message).to.not.include(undefined);
  }).timeout(60_000);
});
