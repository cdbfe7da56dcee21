import { once } from 'node:events';
import { get as httpGet } from 'node:http';
import { connect } from 'node:net';
import type { Readable } from 'node:stream';
import { expect } from 'chai';
import type { Decision, Limiter } from '../../../core/contracts/limiter.js';
import { dataRoute, definePlugin, serviceRoute } from '../../../core/contracts/plugin.js';
import { Admission } from '../../../core/edge/admission.js';
import { request } from '../../support/http-client.js';
import { type KeptLogger, keptLogger } from '../../support/kept-logger.js';
import { startTestApp, type TestApp } from '../../support/test-app.js';
import { until } from '../../support/until.js';

const controlled = (options: { maxInFlight?: number; maxEventLoopDelayMs?: number } = {}) => {
  const logger = keptLogger();
  const work = { queuedOrAbandoned: 0 };
  let now = 1000;
  let idle = 0;
  let stolen = 0;
  const ends: (() => void)[] = [];
  const admission = new Admission({
    maxInFlight: 1000,
    maxEventLoopDelayMs: 100,
    ...options,
    clock: { monotonic: () => now },
    logger,
    work,
    eventLoop: {
      atEndOfTurn: (callback) => ends.push(callback),
      worked: () => now - idle - stolen,
      idle: () => idle,
    },
  });
  /**
   * Simulates one turn of the event loop that handles requests one after another. Returns the number of admitted
   * requests.
   */
  const turn = (requests: number, msEach: number, { stolenShare = 0 } = {}) => {
    let admitted = 0;
    for (let i = 0; i < requests; i++) {
      if (admission.enter()) continue;
      admitted++;
      now += msEach;
      stolen += msEach * stolenShare;
      admission.leave();
    }
    for (const end of ends.splice(0)) end();
    return admitted;
  };
  const overload = () => {
    turn(50, 1);
    turn(150, 1);
  };
  const pass = (ms: number) => {
    now += ms;
    idle += ms;
  };
  const compute = (ms: number) => {
    now += ms;
  };
  return { admission, logger, work, turn, overload, pass, compute };
};

describe('Admission', () => {
  it('admits up to maxInFlight requests at once, and more as requests complete', () => {
    const { admission } = controlled({ maxInFlight: 2 });
    expect([admission.enter(), admission.enter(), admission.enter()]).to.deep.equal([
      undefined,
      undefined,
      'in_flight',
    ]);
    admission.leave();
    expect([admission.enter(), admission.enter()]).to.deep.equal([undefined, 'in_flight']);
    expect([admission.inFlight, admission.rejected]).to.deep.equal([2, { in_flight: 2, event_loop_delay: 0 }]);
  });

  it('does not count requests in the work queues', () => {
    const { admission, work, turn, overload } = controlled({ maxInFlight: 40 });
    for (let i = 0; i < 40; i++) admission.enter();
    work.queuedOrAbandoned = 40;
    expect([turn(15, 100), turn(15, 200), turn(15, 300)]).to.deep.equal([15, 15, 15]);
    overload();
    expect(turn(15, 1)).to.equal(3);
    work.queuedOrAbandoned = 0;
    expect(turn(1, 1)).to.equal(0);
  });

  it('admits all requests of a single long turn', () => {
    const { turn } = controlled();
    expect(turn(500, 1)).to.equal(500);
    expect(turn(5, 1)).to.equal(5);
    expect(turn(500, 1)).to.equal(500);
  });

  it('admits all requests after a pause, while turns get shorter', () => {
    const { turn } = controlled();
    expect([turn(500, 1), turn(300, 1), turn(150, 1)]).to.deep.equal([500, 300, 150]);
  });

  it('rejects requests that a second, longer turn does not reach within maxEventLoopDelayMs', () => {
    const { admission, turn } = controlled();
    expect(turn(90, 1)).to.equal(90);
    expect(turn(270, 1)).to.equal(101);
    expect(admission.rejected).to.deep.equal({ in_flight: 0, event_loop_delay: 169 });
  });

  it('admits requests for two milliseconds of each turn during an overload', () => {
    const { turn, overload } = controlled();
    overload();
    expect([turn(15, 1), turn(15, 1), turn(2, 1), turn(15, 1)]).to.deep.equal([3, 3, 2, 3]);
  });

  it('always admits the first request of a turn, even if it takes long', () => {
    const { turn, overload } = controlled();
    overload();
    expect([turn(3, 50), turn(1, 50), turn(3, 50)]).to.deep.equal([1, 1, 1]);
  });

  it('admits as many requests as complete within four milliseconds during an overload', () => {
    const { admission, turn, overload } = controlled();
    const enter = (count: number) => Array.from({ length: count }, () => admission.enter()).filter((each) => !each);
    overload();
    expect(enter(20).length).to.equal(1);
    expect(turn(1, 0)).to.equal(0);
    admission.leave();
    for (let i = 0; i < 60; i++) expect(turn(2, 0.5)).to.equal(2);
    expect(turn(1, 0)).to.equal(1);
    expect(enter(20).length).to.be.within(8, 9);
  });

  it('detects an overload whose work comes after all requests of a turn were admitted', () => {
    const { admission, turn, compute } = controlled();
    const batch = (count: number, ms: number) => {
      const admitted = Array.from({ length: count }, () => admission.enter()).filter((each) => !each).length;
      compute(ms);
      for (let i = 0; i < admitted; i++) admission.leave();
      turn(0, 0);
      return admitted;
    };
    expect([batch(20, 50), batch(60, 150), batch(60, 10)]).to.deep.equal([20, 60, 1]);
  });

  it('admits all requests again once the event loop has time to spare', () => {
    const { turn, overload, pass } = controlled();
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

  it('admits all requests from the first turn after a pause', () => {
    const { turn, overload, pass } = controlled();
    overload();
    pass(2000);
    expect(turn(50, 1)).to.equal(50);
  });

  it('rejects none of 16 concurrent requests, even if they take long', () => {
    const { turn } = controlled();
    for (let i = 0; i < 10; i++) expect(turn(16, 50)).to.equal(16);
  });

  it('rejects no request when other processes make turns long', () => {
    const { turn } = controlled();
    for (let i = 0; i < 10; i++) expect(turn(90, 10, { stolenShare: 0.9 })).to.equal(90);
  });

  it('logs the start of an overload once, and its end', () => {
    const { turn, overload, pass, logger } = controlled();
    overload();
    turn(30, 1);
    expect(logger.lines).to.deep.equal(['warn: overloaded: rejecting requests with 503']);
    pass(1001);
    turn(1, 1);
    turn(1, 1);
    expect(logger.lines.slice(1)).to.deep.equal(['info: the overload is over']);
  });
});

/** A list that never ends, and a response that the test completes. */
const unfinished = () => {
  const completed: (() => void)[] = [];
  const schema = { type: 'object', properties: { data: { type: 'array', items: { type: 'object' } } } } as const;
  const route = (path: string, handler: () => Promise<{ data: object[] | AsyncIterable<object[]> }>) =>
    dataRoute({
      path,
      operationId: `list${path.slice(1)}`,
      summary: 'Rows',
      response: { description: 'Rows.', schema, example: { data: [] } },
      handler: handler as never,
    });
  async function* endless() {
    for (;;) yield [{ text: 'x'.repeat(10_000) }];
  }
  const plugin = definePlugin({
    name: 'unfinished',
    version: '1.0.0',
    description: 'Responses that do not complete.',
    routes: () => [
      route('/endless', async () => ({ data: endless() })),
      route('/pending', async () => {
        await new Promise<void>((resolve) => completed.push(resolve));
        return { data: [] };
      }),
    ],
  });
  return { plugin, completed };
};

describe('a service with maxInFlight 5 whose clients download large lists', () => {
  it('still admits five requests, but no more, in addition to the downloads and inner requests', async () => {
    const { plugin, completed } = unfinished();
    const waiting: ((decision: Decision) => void)[] = [];
    const allowed: Decision = { allowed: true, limit: 10, remaining: 5, resetMs: 0 };
    let isWaiting = false;
    const limiter: Limiter = {
      take: () => (isWaiting ? new Promise((resolve) => waiting.push(resolve)) : Promise.resolve(allowed)),
      health: () => ({ ok: true, message: null }),
      close: async () => undefined,
    };
    const service = await startTestApp({
      config: {
        plugins: [],
        server: { overload: { maxInFlight: 5 } },
        http: { responseCheck: 'off', cacheBytes: 1_000_000 },
      },
      overrides: { limiter, plugins: [{ plugin }] },
    });
    const headers = { Authorization: `Bearer ${service.key}` };
    try {
      const downloads = [1, 2].map(() => httpGet(`${service.url}/endless`, { headers, agent: false }));
      const bodies = await Promise.all(downloads.map(async (each) => (await once(each, 'response')) as [Readable]));
      for (const [body] of bodies) body.pause();
      const inner = service.app.local.request('/pending');
      await until(() => completed.length >= 1);
      isWaiting = true;
      const admitted = Array.from({ length: 5 }, () => service.get('/unknown'));
      await until(() => waiting.length >= 5);
      expect((await service.get('/unknown')).status).to.equal(503);
      for (const settle of waiting) settle(allowed);
      expect((await Promise.all(admitted)).map(({ status }) => status)).to.deep.equal([404, 404, 404, 404, 404]);
      for (const complete of completed) complete();
      expect((await inner).status).to.equal(200);
      for (const [body] of bodies) body.destroy();
    } finally {
      await service.close();
    }
  });
});

describe('a service with maxInFlight 5 whose handlers never end', () => {
  let service: TestApp;
  let calls = 0;
  const never = () => {
    calls++;
    return new Promise<never>(() => undefined);
  };
  before(async () => {
    const hung = definePlugin({
      name: 'hung',
      version: '1.0.0',
      description: 'Handlers that never end.',
      routes: () => [
        serviceRoute({
          path: '/hung',
          operationId: 'getHung',
          summary: 'Nothing',
          key: false,
          response: { description: 'Nothing.', schema: { type: 'object' }, example: {} },
          handler: never,
        }),
      ],
      mounts: () => [{ path: '/hung', summary: 'Nothing', handler: never }],
    });
    service = await startTestApp({
      config: { server: { overload: { maxInFlight: 5 } } },
      overrides: { plugins: [{ plugin: hung }] },
    });
  });
  after(() => service.close());

  const send = async (path: string, key: string, count: number) => {
    const expected = calls + count;
    const socket = connect(Number(new URL(service.origin).port), '127.0.0.1');
    const head = `GET ${path} HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${key}\r\n\r\n`;
    socket.write(head.repeat(count));
    await until(() => calls >= expected || undefined);
    return socket;
  };
  const statusOf = async (path = `${service.url}/markets`, key = service.key) =>
    (await request(path, { headers: { Authorization: `Bearer ${key}` } })).status;

  for (const path of ['/hung', '/api/v1/hung']) {
    it(`admits other callers while one caller waits for ${path}, and all callers when the clients have gone`, async () => {
      const [one, two] = [(await service.newKey()).key, (await service.newKey()).key];
      const sockets = [await send(path, one, 3)];
      expect(await statusOf(`${service.origin}${path}`, one)).to.equal(503);
      expect(await statusOf()).to.equal(200);
      sockets.push(await send(path, two, 2));
      expect(await statusOf()).to.equal(503);
      for (const socket of sockets) socket.destroy();
      await until(async () => (await statusOf()) === 200 || undefined);
    });
  }
});

describe('a service beyond its capacity', () => {
  let service: TestApp;
  let logger: KeptLogger;
  let waiting: ((decision: Decision) => void)[];
  before(async () => {
    waiting = [];
    logger = keptLogger();
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

  it('sends 503 with Retry-After for excess requests and 200 for all others, and always responds to /health', async () => {
    const admitted = Array.from({ length: 5 }, () => service.get('/markets'));
    await until(() => waiting.length >= 5);
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
    await until(() => waiting.length >= 1);
    waiting[0]!({ allowed: true, limit: 10, remaining: 5, resetMs: 0 });
    expect((await next).status).to.equal(200);
    expect(logger.lines).to.include('warn: overloaded: rejecting requests with 503');
  });
});
