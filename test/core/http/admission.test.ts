/** When requests are refused for overload, and what is answered meanwhile. */
import { expect } from 'chai';
import type { Decision, Limiter } from '../../../core/contracts/limiter.js';
import { Admission } from '../../../core/http/admission.js';
import { request } from '../../support/http-client.js';
import { type KeptLogger, keptLogger } from '../../support/kept-logger.js';
import { startTestApp, type TestApp } from '../../support/test-app.js';

/** An admission over a clock and an event loop that the test turns by hand. */
const handTurned = (options: { maxInFlight?: number; maxEventLoopDelayMs?: number } = {}) => {
  const logger = keptLogger();
  let now = 1000;
  const ends: (() => void)[] = [];
  const admission = new Admission({
    maxInFlight: 1000,
    maxEventLoopDelayMs: 20,
    ...options,
    clock: { monotonic: () => now },
    logger,
    atEndOfTurn: (callback) => ends.push(callback),
  });
  /** One turn in which requests are served one after another. */
  const turn = (requests: number, msEach: number) => {
    const outcomes: string[] = [];
    for (let i = 0; i < requests; i++) {
      const overload = admission.enter();
      outcomes.push(overload ?? 'admitted');
      if (overload) continue;
      now += msEach;
      admission.leave();
    }
    for (const end of ends.splice(0)) end();
    return outcomes;
  };
  const pass = (ms: number) => {
    now += ms;
  };
  return { admission, logger, turn, pass };
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
    expect(turn(500, 1)).to.deep.equal(new Array(500).fill('admitted'));
  });

  it('refuses what a turn cannot get to in time, once turns have been too long for a quarter of a second', () => {
    const { turn } = handTurned();
    for (let i = 0; i < 8; i++) expect(turn(30, 1)).to.not.include('event_loop_delay');
    const overloaded = turn(100, 1);
    expect(overloaded.filter((outcome) => outcome === 'admitted').length).to.equal(21);
    expect(overloaded.lastIndexOf('admitted')).to.equal(20);
  });

  it('never refuses the first 16 of a turn, however long they take', () => {
    const { turn } = handTurned();
    for (let i = 0; i < 10; i++) turn(16, 50);
    expect(turn(16, 50)).to.deep.equal(new Array(16).fill('admitted'));
    expect(turn(17, 50)).to.include('event_loop_delay');
  });

  it('admits all again as soon as a turn was short enough', () => {
    const { turn } = handTurned();
    for (let i = 0; i < 10; i++) turn(30, 1);
    expect(turn(30, 1)).to.include('event_loop_delay');
    turn(10, 1);
    expect(turn(30, 1)).to.deep.equal(new Array(30).fill('admitted'));
  });

  it('says once that it refuses, and once that it is over, with how many', () => {
    const { turn, pass, logger } = handTurned();
    for (let i = 0; i < 12; i++) turn(30, 1);
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
