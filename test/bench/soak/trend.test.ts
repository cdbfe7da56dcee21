/** trendOf and grows: a leak is told from noise, from what fills up at the beginning, and from what comes and goes. */
import { expect } from 'chai';
import { grows, type Sample, trendOf } from '../../../bench/soak/trend.js';
import { randomFrom } from '../../../plugins/metro/sample/random.js';

const samples = (
  valueAt: (at: number, beside: number) => number,
  besideAt: (at: number) => number = () => 0,
): Sample[] =>
  Array.from({ length: 121 }, (_, i) => {
    const beside = besideAt(i * 3);
    return { at: i * 3, value: valueAt(i * 3, beside), beside };
  });

describe('trendOf(samples)', () => {
  it('tells mean and growth of the last two thirds', () => {
    const { mean, growth, significance } = trendOf(samples((at) => 100 + at / 10));
    expect(mean).to.be.closeTo(124, 1e-9);
    expect(growth).to.be.closeTo(24, 1e-9);
    expect(significance).to.be.above(1e6);
  });

  it('takes what fills up in the first third for no growth', () => {
    const trend = trendOf(samples((at) => Math.min(at, 100)));
    expect(trend).to.deep.equal({ mean: 100, growth: 0, significance: 0 });
  });

  it('leaves out what goes with something that comes and goes, and nothing else', () => {
    const filling = (at: number) => Math.sin(at / 40) * 10 + at / 20;
    const held = trendOf(samples((_, beside) => 50 + 0.5 * beside, filling));
    expect(held.growth).to.be.closeTo(0, 1e-9);
    const leaking = trendOf(samples((at, beside) => 50 + 0.5 * beside + at / 100, filling));
    expect(leaking.growth).to.be.closeTo(2.4, 1e-9);
  });

  it('measures noise by its own size', () => {
    const noise = randomFrom('noise');
    for (let series = 0; series < 50; series++) {
      const { significance } = trendOf(samples(() => 50 + 5 * noise.normal(), noise.normal));
      expect(Math.abs(significance)).to.be.below(5);
    }
  });

  it('needs four samples', () => {
    expect(() => trendOf(samples(() => 1).slice(0, 4))).to.throw('there are 3');
  });
});

describe('grows(trend, allowed)', () => {
  const leak = (perSecond: number) => {
    const noise = randomFrom('leak');
    return trendOf(samples((at) => 50 + at * perSecond + noise.normal()));
  };

  it('finds a leak under noise', () => {
    expect(grows(leak(0.03), 2.5)).to.equal(true);
  });

  it('passes a growth that is steady and as small as is allowed, and one that chance explains', () => {
    expect(grows(leak(0.005), 2.5)).to.equal(false);
    expect(grows({ mean: 50, growth: 4, significance: 1.5 }, 2.5)).to.equal(false);
  });

  it('passes what becomes less', () => {
    expect(grows(leak(-0.1), 2.5)).to.equal(false);
  });
});
