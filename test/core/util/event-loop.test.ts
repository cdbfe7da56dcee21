import { expect } from 'chai';
import { BackgroundPacing, TurnQueue } from '../../../core/util/event-loop.js';

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

const PIECE_MS = 0.6;

const pieces = async (count: number, pace: BackgroundPacing): Promise<void> => {
  for (let piece = 0; piece < count; piece++) {
    const until = performance.now() + PIECE_MS;
    while (performance.now() < until);
    await pace.pause();
  }
};

describe('TurnQueue', () => {
  it('gives callers equal shares, however many tasks each has', async () => {
    const queue = new TurnQueue(0);
    const order: string[] = [];
    const task = async (caller: string) => {
      const pauses = queue.join(caller);
      for (let piece = 0; piece < 3; piece++) {
        await pauses.pause();
        order.push(caller);
      }
    };
    await Promise.all([...Array.from({ length: 10 }, () => task('a')), task('b'), task('c')]);
    expect(order.slice(0, 9).join('')).to.equal('abcabcabc');
    expect(order.slice(9).join('')).to.equal('a'.repeat(27));
  });

  it('runs short tasks in one turn of the event loop, and long tasks in separate turns', async () => {
    expect(await turnsFor(0.1)).to.be.at.most(2);
    expect(await turnsFor(30)).to.be.at.least(9);
  });
});

const turnsFor = async (taskMs: number): Promise<number> => {
  const queue = new TurnQueue(200);
  let turns = 0;
  let other = setImmediate(function again() {
    turns++;
    other = setImmediate(again);
  });
  const task = async () => {
    await queue.join().pause();
    const until = performance.now() + taskMs;
    while (performance.now() < until);
  };
  await Promise.all(Array.from({ length: 10 }, task));
  clearImmediate(other);
  return turns;
};

describe('BackgroundPacing', () => {
  it('leaves most of the time to other work while the loop is busy', async () => {
    const loop = loopThatIs('busy');
    const since = performance.now();
    await pieces(10, new BackgroundPacing(loop));
    expect(performance.now() - since).to.be.above(9 * 10 * PIECE_MS);
    expect(loop.looks).to.equal(20);
  });

  it('adds up short pieces of work', async () => {
    const loop = loopThatIs('busy');
    const pace = new BackgroundPacing(loop);
    for (let piece = 0; piece < 1000; piece++) await pace.pause();
    expect(loop.looks).to.be.within(2, 200);
  });

  it('reads the state less often while the loop is idle', async () => {
    const loop = loopThatIs('idle');
    const pace = new BackgroundPacing(loop);
    await pieces(200, pace);
    expect(loop.looks).to.be.within(2, 100);
  });

  it('yields between two pieces even if the loop is idle', async () => {
    const pace = new BackgroundPacing(loopThatIs('idle'));
    await pace.pause();
    let turns = 0;
    let other = setImmediate(function again() {
      turns++;
      other = setImmediate(again);
    });
    await pieces(10, pace);
    clearImmediate(other);
    expect(turns).to.be.at.least(9);
  });

  for (const state of ['idle', 'busy'] as const) {
    it(`rejects immediately when it is aborted, while the loop is ${state}`, async () => {
      const pace = new BackgroundPacing(loopThatIs(state));
      await pace.pause();
      const reason = new Error('closed');
      const error = await pace.pause(AbortSignal.abort(reason)).catch((thrown: unknown) => thrown);
      expect(error).to.equal(reason);
    });
  }
});
