import { expect } from 'chai';
import { randomFrom } from '../../../../plugins/metro/sample/random.js';

const take = (seed: string, count: number, of: 'uniform' | 'normal') => {
  const random = randomFrom(seed);
  return Array.from({ length: count }, () => random[of]());
};
const mean = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0) / values.length;

describe('randomFrom(seed)', () => {
  it('repeats its values for the same seed, and differs for another seed', () => {
    expect(take('a', 100, 'uniform')).to.deep.equal(take('a', 100, 'uniform'));
    expect(take('a', 100, 'uniform')).to.not.deep.equal(take('b', 100, 'uniform'));
  });

  it('is uniform on [0, 1)', () => {
    const values = take('a', 20_000, 'uniform');
    expect(Math.min(...values)).to.be.within(0, 0.001);
    expect(Math.max(...values)).to.be.within(0.999, 1 - 2 ** -32);
    expect(mean(values)).to.be.closeTo(0.5, 0.01);
  });

  it('is normal with mean 0 and variance 1', () => {
    const values = take('a', 20_000, 'normal');
    expect(mean(values)).to.be.closeTo(0, 0.03);
    expect(mean(values.map((value) => value ** 2))).to.be.closeTo(1, 0.05);
  });
});
