import { expect } from 'chai';
import { pageModules } from '../../support/page-modules.js';

const { valueTicks } = await pageModules('core/pages/data-views/axes');

describe('valueTicks(low, high, height)', () => {
  it('has at least 4 ticks on a phone, for any values', () => {
    for (const [low, high] of [
      [271, 588],
      [2.4, 7.3],
      [-12, 19],
      [98, 100.9],
      [0, 1.06],
    ]) {
      const { ticks } = valueTicks(low, high, 220);
      expect(ticks.length, `${low} to ${high}`).to.be.within(4, 12);
    }
  });

  it('keeps ticks at least 18 pixels apart', () => {
    for (let high = 1; high < 1000; high *= 1.07) {
      for (const height of [90, 150, 220, 340]) {
        const { ticks } = valueTicks(0, high, height);
        for (const [at, tick] of ticks.slice(1).entries())
          expect(((tick - ticks[at]) / high) * height).to.be.at.least(17.9);
      }
    }
  });
});
