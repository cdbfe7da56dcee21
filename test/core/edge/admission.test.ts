/** When requests are refused for overload, and what is answered meanwhile. */
import { expect } from 'chai';
import type { Decision, Limiter } from '../../../core/contracts/limiter.js';
import { Admission } from '../../../core/edge/admission.js';
import { request } from '../../support/http-client.js';
import { type KeptLogger, keptLogger } from '../../support/kept-logger.js';
import { startTestApp, type TestApp } from '../../support/test-app.js';

/** An admission over a clock and an event loop that the test turns by hand. */
const handTurned = (options: { maxInFlight?: number; maxEventLoopDelayMs?: number } = {}) => {
  const logger = keptLogger();
  let now = 1000;
  let idle = 0;
  let stolen = 0;
  let queued = 0;
  const ends: (() => void)[] = [];
  const admission = new Admission({
    maxInFlight: 1000,
    maxEventLoopDelayMs: 100,
    ...options,
    clock: { monotonic: () => now },
    logger,
    eventLoop: {
      atEndOfTurn: (callback) => ends.push(callback),
      worked: () => now - idle - stolen,
      idle: () => idle,
      queued: () => queued,
    },
  });
  /** One turn in which requests are served one after another. @returns how many were admitted */
  const turn = (requests: number, msEach: number, { ofWhichStolen = 0 } = {}) => {
    let admitted = 0;
    for (let i = 0; i < requests; i++) {
      if (admission.enter()) continue;
      admitted++;
      now += msEach;
      stolen += msEach * ofWhichStolen;
      admission.leave();
    }
    for (const end of ends.splice(0)) end();
    return admitted;
  };
  /** As many turns as it takes to see a queue that stays. */
  const overload = () => {
    turn(50, 1);
    turn(150, 1);
  };
  const pass = (ms: number) => {
    now += ms;
    idle += ms;
  };
  const work = (ms: number) => {
    now += ms;
  };
  const queue = (ms: number) => {
    queued = ms;
  };
  return { admission, logger, turn, overload, pass, work, queue };
};

describe('Admission', () => {
  it('admits up to maxInFlight at once, and again as requests end', () => {
    const { admission } = handTurned({ maxInFlight: 2 });
    expect([admission.enter(), admission.enter(), admission.enter()]).to.deep.equal([
      undefined,
      undefined,
      'in_flight',
    ]);
    admission.leave();
    expect([admission.enter(), admission.enter()]).to.deep.equal([undefined, 'in_flight']);
    expect([admission.inFlight, admission.refused]).to.deep.equal([2, { in_flight: 2, event_loop_delay: 0 }]);
  });

  it('lets a single long turn pass whole: a burst is what the queue is there for', () => {
    const { turn } = handTurned();
    expect(turn(500, 1)).to.equal(500);
    expect(turn(5, 1)).to.equal(5);
    expect(turn(500, 1)).to.equal(500);
  });

  it('refuses while many wait too long in the queue of long work, however short the turns are', () => {
    const { admission, turn, queue } = handTurned();
    queue(99);
    expect(turn(20, 0.01)).to.equal(20);
    queue(101);
    expect(turn(15, 0.01)).to.equal(15);
    for (let i = 0; i < 20; i++) admission.enter();
    expect(turn(20, 0.01)).to.equal(0);
    expect(admission.refused.event_loop_delay).to.be.at.least(20);
  });

  it('lets what a pause has held up pass whole, where each turn after it is shorter', () => {
    const { turn } = handTurned();
    expect([turn(500, 1), turn(300, 1), turn(150, 1)]).to.deep.equal([500, 300, 150]);
  });

  it('refuses what a longer turn after a long one cannot get to within maxEventLoopDelayMs', () => {
    const { admission, turn } = handTurned();
    expect(turn(90, 1)).to.equal(90);
    expect(turn(270, 1)).to.equal(101);
    expect(admission.refused).to.deep.equal({ in_flight: 0, event_loop_delay: 169 });
  });

  it('then answers a few milliseconds of each turn, and refuses the rest', () => {
    const { turn, overload } = handTurned();
    overload();
    expect([turn(15, 1), turn(15, 1), turn(2, 1), turn(15, 1)]).to.deep.equal([3, 3, 2, 3]);
  });

  it('always answers the first request of a turn, however costly', () => {
    const { turn, overload } = handTurned();
    overload();
    expect([turn(3, 50), turn(1, 50), turn(3, 50)]).to.deep.equal([1, 1, 1]);
  });

  it('then admits no more while those in flight would wait for one another, which depends on how fast they end', () => {
    const { admission, turn, overload } = handTurned();
    const enter = (count: number) => Array.from({ length: count }, () => admission.enter()).filter((each) => !each);
    overload();
    expect(enter(20).length).to.equal(1);
    expect(turn(1, 0)).to.equal(0);
    admission.leave();
    // Two a millisecond: eight end in four milliseconds.
    for (let i = 0; i < 60; i++) expect(turn(2, 0.5)).to.equal(2);
    expect(turn(1, 0)).to.equal(1);
    expect(enter(20).length).to.be.within(8, 9);
  });

  it('sees a queue also where the work comes after all requests of a turn have been admitted', () => {
    const { admission, turn, work } = handTurned();
    const batch = (count: number, ms: number) => {
      const admitted = Array.from({ length: count }, () => admission.enter()).filter((each) => !each).length;
      work(ms);
      for (let i = 0; i < admitted; i++) admission.leave();
      turn(0, 0);
      return admitted;
    };
    expect([batch(20, 50), batch(60, 150), batch(60, 10)]).to.deep.equal([20, 60, 1]);
  });

  it('admits all again once the loop had time to spare', () => {
    const { turn, overload, pass } = handTurned();
    overload();
    const turns = (each: () => void) => {
      for (let i = 0; i < 500; i++) each();
    };
    turns(() => {
      turn(15, 1);
      pass(0.1);
    });
    expect(turn(15, 1)).to.equal(3);
    turns(() => {
      turn(2, 1);
      pass(1);
    });
    expect(turn(15, 1)).to.equal(15);
  });

  it('admits all again after a pause, from the first turn on', () => {
    const { turn, overload, pass } = handTurned();
    overload();
    pass(2000);
    expect(turn(50, 1)).to.equal(50);
  });

  it('never refuses where 16 at most come together, however long they take', () => {
    const { turn } = handTurned();
    for (let i = 0; i < 10; i++) expect(turn(16, 50)).to.equal(16);
  });

  it('takes turns that are long since others use the processor for no overload', () => {
    const { turn } = handTurned();
    for (let i = 0; i < 10; i++) expect(turn(90, 10, { ofWhichStolen: 0.9 })).to.equal(90);
  });

  it('says once that it refuses, and once that it is over, with how many', () => {
    const { turn, overload, pass, logger } = handTurned();
    overload();
    turn(30, 1);
    expect(logger.lines).to.deep.equal(['warn: overloaded: refusing requests with 503']);
    pass(1001);
    turn(1, 1);
    turn(1, 1);
    expect(logger.lines.slice(1)).to.deep.equal(['info: the overload is over']);
  });
});

describe('a service past its capacity', () => {
  let service: TestApp;
  let logger: KeptLogger;
  let waiting: ((decision: Decision) => void)[];
  before(async () => {
    waiting = [];
    logger = keptLogger();
    // A limiter whose store takes its time.
    const limiter: Limiter = {
      take: () => new Promise<Decision>((resolve) => waiting.push(resolve)),
      health: () => ({ ok: true, message: null }),
      close: async () => undefined,
    };
    service = await startTestApp({
      config: { server: { port: 0, overload: { maxInFlight: 5 } } },
      overrides: { limiter, logger },
    });
  });
  after(() => service.close());

  it('answers the excess with 503 and Retry-After, the others as ever, and /health always', async () => {
    const admitted = Array.from({ length: 5 }, () => service.get('/markets'));
    while (waiting.length < 5) await new Promise((next) => setImmediate(next));
    for (const method of ['GET', 'HEAD']) {
      const excess = await service.get('/markets', { method });
      expect(excess.status).to.equal(503);
      expect(excess.headers['retry-after']).to.equal('1');
      expect(excess.headers).to.include.keys('x-request-id', 'content-security-policy', 'access-control-allow-origin');
      if (method === 'GET') expect(excess.json.code).to.equal('service_unavailable');
    }
    expect((await request(`${service.url}/health`)).status).to.equal(200);
    for (const settle of waiting) settle({ allowed: true, limit: 10, remaining: 5, resetMs: 0 });
    expect((await Promise.all(admitted)).map(({ status }) => status)).to.deep.equal([200, 200, 200, 200, 200]);
    waiting.length = 0;
    const next = service.get('/markets');
    while (waiting.length < 1) await new Promise((each) => setImmediate(each));
    waiting[0]!({ allowed: true, limit: 10, remaining: 5, resetMs: 0 });
    expect((await next).status).to.equal(200);
    expect(logger.lines).to.include('warn: overloaded: refusing requests with 503');
  });
});
