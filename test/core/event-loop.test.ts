import { expect } from 'chai';
import { Pace } from '../../core/event-loop.js';

/** A loop that is idle always or never, and counts how often somebody looks. */
const loopThatIs = (state: 'idle' | 'busy') => {
  const loop = {
    looks: 0,
    idle: () => {
      loop.looks++;
      return state === 'idle' ? performance.now() : 0;
    },
  };
  return loop;
};

describe('Pace', () => {
  it('leaves the loop to others after each piece while they are busy', async () => {
    const loop = loopThatIs('busy');
    const pace = new Pace(loop);
    const since = performance.now();
    for (let piece = 0; piece < 10; piece++) await pace.pause();
    // A timer may fire a fraction of a millisecond early.
    expect(performance.now() - since).to.be.above(20);
    expect(loop.looks).to.equal(20);
  });

  it('goes on without looking for a while when nobody is', async () => {
    const loop = loopThatIs('idle');
    const pace = new Pace(loop);
    for (let piece = 0; piece < 200; piece++) await pace.pause();
    expect(loop.looks).to.be.within(2, 100);
  });

  it('lets others run between two pieces in any case', async () => {
    const pace = new Pace(loopThatIs('idle'));
    await pace.pause();
    let turns = 0;
    let other = setImmediate(function again() {
      turns++;
      other = setImmediate(again);
    });
    for (let piece = 0; piece < 10; piece++) await pace.pause();
    clearImmediate(other);
    expect(turns).to.be.at.least(9);
  });

  for (const state of ['idle', 'busy'] as const) {
    it(`ends at once when it is aborted, while the loop is ${state}`, async () => {
      const pace = new Pace(loopThatIs(state));
      await pace.pause();
      const reason = new Error('closed');
      const error = await pace.pause(AbortSignal.abort(reason)).catch((thrown: unknown) => thrown);
      expect((error as Error).cause).to.equal(reason);
    });
  }
});
