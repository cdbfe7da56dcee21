/** mostInWindow(passed, windowMs): how exact a limit is, from what one caller saw. */
import { expect } from 'chai';
import { mostInWindow } from '../../bench/most-in-window.js';

const at = (sentAt: number, tookMs = 1) => ({ sentAt, receivedAt: sentAt + tookMs });
const burst = (begin: number, count: number) => Array.from({ length: count }, (_, i) => at(begin + i));

describe('mostInWindow(passed, windowMs)', () => {
  it('finds the window across the border of two fixed ones', () => {
    const passed = [at(0), ...burst(59_000, 599), ...burst(60_001, 600)];
    expect(mostInWindow(passed, 60_000)).to.equal(1199);
  });

  it('counts no two requests that are a window apart', () => {
    expect(mostInWindow([at(0), at(59_998), at(60_000)], 60_000)).to.equal(2);
  });

  it('leaves out what was answered after the window, since it may have been decided on then', () => {
    expect(mostInWindow([at(0), at(59_000, 999), at(59_000, 1000)], 60_000)).to.equal(2);
  });

  it('is 0 where nothing passed', () => {
    expect(mostInWindow([], 60_000)).to.equal(0);
  });
});
