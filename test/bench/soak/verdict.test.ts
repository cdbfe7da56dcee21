import { expect } from 'chai';
import { growthOf } from '../../../bench/soak/verdict.js';
import { randomFrom } from '../../../plugins/metro/sample/random.js';

const series = (valueAt: (index: number) => number): number[] => Array.from({ length: 120 }, (_, i) => valueAt(i));

describe('growthOf(values)', () => {
  it('finds a leak under noise that is larger than the growth between two samples', () => {
    const random = randomFrom('leak');
    const { growth, mean } = growthOf(series((i) => 100 + i / 10 + random.normal()));
    expect(growth).to.be.closeTo(4, 1);
    expect(mean).to.be.closeTo(108, 1);
  });

  it('ignores growth in the first third, when caches fill', () => {
    expect(growthOf(series((i) => Math.min(i, 39)))).to.deep.equal({ mean: 39, growth: 0 });
  });

  it('is near zero for noise, and negative for a decrease', () => {
    const random = randomFrom('noise');
    expect(growthOf(series(() => 100 + random.normal())).growth).to.be.closeTo(0, 1);
    expect(growthOf(series((i) => 200 - i)).growth).to.equal(-40);
  });

  it('needs six samples', () => {
    expect(() => growthOf([1, 2, 3, 4, 5])).to.throw('Growth needs at least six samples, got 5.');
    expect(growthOf([9, 9, 1, 1, 2, 2])).to.deep.equal({ mean: 1.5, growth: 1 });
  });
});
