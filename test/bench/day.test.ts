import { expect } from 'chai';
import { type DayRequest, dayPaths, drawDay } from '../../bench/day.js';

const COUNT = 20_000;
const options = {
  cbsas: Array.from({ length: 40 }, (_, i) => String(10_000 + i)),
  series: ['GDP', 'UNRATE', 'CPI'],
  keys: Array.from({ length: 500 }, (_, i) => `key-${i}`),
};
const day = drawDay(options, COUNT);

const share = (holds: (request: DayRequest) => boolean): number => day.filter(holds).length / COUNT;
const times = (path: string): number => day.filter((request) => request.path === path).length;

describe('drawDay(options, count)', () => {
  it('returns the same day each time', () => {
    expect(drawDay(options, 100)).to.deep.equal(day.slice(0, 100));
  });

  it('contains every path of dayPaths and no other paths', () => {
    expect(new Set(day.map(({ path }) => path))).to.deep.equal(new Set(dayPaths(options)));
  });

  it('consists of 70% markets, 20% lists, 10% observations and series, and 3% incorrect requests', () => {
    const wrong = /99999|99998|NOTHING|houston|limit=51|today/;
    expect(share(({ path }) => wrong.test(path))).to.be.closeTo(0.03, 0.005);
    expect(share(({ path }) => /^\/(markets|forecasts)\/1/.test(path))).to.be.closeTo(0.7 * 0.97, 0.015);
    expect(share(({ path }) => !wrong.test(path) && /^\/(observations|series)/.test(path))).to.be.closeTo(0.097, 0.01);
  });

  it('requests the n-th market 1/n times as often as the first', () => {
    const first = times('/markets/10000');
    expect(times('/markets/10001')).to.be.closeTo(first / 2, first * 0.1);
    expect(times('/markets/10009')).to.be.closeTo(first / 10, first * 0.05);
  });

  it('uses all keys equally often', () => {
    const byKey = new Map<string, number>();
    for (const { key } of day) byKey.set(key, (byKey.get(key) ?? 0) + 1);
    expect(byKey.size).to.equal(options.keys.length);
    expect(Math.max(...byKey.values())).to.be.below((COUNT / options.keys.length) * 2);
  });

  it('accepts br in half of the requests and gzip in a fifth; a third is conditional, a twentieth closes', () => {
    expect(share(({ accepts }) => accepts?.endsWith('br') === true)).to.be.closeTo(0.5, 0.02);
    expect(share(({ accepts }) => accepts === 'gzip, deflate')).to.be.closeTo(0.2, 0.02);
    expect(share(({ conditional }) => conditional)).to.be.closeTo(1 / 3, 0.02);
    expect(share(({ closes }) => closes)).to.be.closeTo(0.05, 0.01);
  });
});
