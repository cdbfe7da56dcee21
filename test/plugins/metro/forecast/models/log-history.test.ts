import { expect } from 'chai';
import { createLogHistory } from '../../../../../plugins/metro/forecast/models/log-history.js';

const push = (history: ReturnType<typeof createLogHistory>, ...levels: number[]) =>
  history.push(Float64Array.from(levels));

describe('createLogHistory(markets)', () => {
  it('fills a gap linearly in logs once the next value is known, and not before', () => {
    const history = createLogHistory(1);
    push(history, 100);
    push(history, Number.NaN);
    push(history, Number.NaN);
    expect(history.at(1)[0]).to.be.NaN;
    push(history, 800);
    const log = (level: number) => 100 * Math.log(level);
    expect(history.at(1)[0]).to.be.closeTo(log(200), 1e-10);
    expect(history.at(2)[0]).to.be.closeTo(log(400), 1e-10);
  });

  it('does not extrapolate series', () => {
    const history = createLogHistory(2);
    push(history, Number.NaN, 100);
    push(history, 100, Number.NaN);
    expect(history.at(0)[0]).to.be.NaN;
    expect(history.at(1)[1]).to.be.NaN;
  });

  it('counts only published values', () => {
    const history = createLogHistory(1);
    for (const level of [100, Number.NaN, 120]) push(history, level);
    expect([...history.counts]).to.deep.equal([2]);
    expect(history.length).to.equal(3);
  });
});
