/** Clients must not be able to crash a process, leak a socket or delay a shutdown. */
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { expect } from 'chai';
import { request } from '../../support/http-client.js';
import { exchange } from '../../support/raw-http.js';
import { skip } from '../../support/skip.js';
import { startTestApp, type TestApp } from '../../support/test-app.js';
import { DRAIN_DELAY_MS, type FuzzedService, fuzz, socketsOf, startFuzzedService } from './socket-fuzz.js';

const CONNECT = 'CONNECT a:80 HTTP/1.1\r\nHost: a\r\n\r\n';

const open = async (port: number, allowHalfOpen = true): Promise<Socket> => {
  const socket = connect({ port, host: '127.0.0.1', allowHalfOpen }).on('error', () => undefined);
  await once(socket, 'connect');
  return socket;
};

const closed = async (socket: Socket, withinMs: number): Promise<boolean> => {
  const isClosed = new Promise<true>((resolve) => socket.resume().once('close', () => resolve(true)));
  return Promise.race([isClosed, delay(withinMs, false)]);
};

describe('sockets', () => {
  let service: TestApp;
  let port: number;
  let metricsPort: number;

  beforeEach(async () => {
    service = await startTestApp({ config: { metrics: { port: 0 } } });
    port = Number(new URL(service.url).port);
    metricsPort = Number(new URL(service.metricsUrl!).port);
  });
  afterEach(() => service.close());

  const expectAlive = async (): Promise<void> => {
    expect((await request(`${service.url}/health`)).status).to.equal(200);
    expect((await request(service.metricsUrl!)).status).to.equal(200);
  };

  for (const [name, bytes] of [
    ['CONNECT', CONNECT],
    ['an upgrade', 'GET / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n'],
    ['Expect: 100-continue', 'GET / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\n'],
    ['another Expect', 'GET / HTTP/1.1\r\nHost: a\r\nExpect: nothing\r\n\r\n'],
    ['bytes that are not HTTP', 'nonsense\r\n\r\n'],
    ['the HTTP/2 preface', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'],
  ] as const) {
    it(`a reset after ${name} crashes no process`, async () => {
      for (const target of [port, metricsPort]) {
        for (const waitMs of [0, 20]) {
          const socket = await open(target);
          socket.write(bytes);
          await delay(waitMs);
          socket.resetAndDestroy();
        }
      }
      await delay(50);
      await expectAlive();
    });
  }

  it('CONNECT gets a 405, and its socket is destroyed although the client keeps it open', async () => {
    const socket = await open(port);
    socket.write(CONNECT);
    const [response] = (await once(socket, 'data')) as [Buffer];
    expect(String(response)).to.match(/^HTTP\/1\.1 405 /);
    await delay(1500);
    // If the service has destroyed the socket, the kernel resets the connection at the first byte, and the next write
    // fails.
    socket.write('x');
    await delay(20);
    socket.write('x');
    expect(await closed(socket, 1000)).to.equal(true);
  });

  it('CONNECT behind a request is no response to that request', async () => {
    const { responses, closed } = await exchange(port, `GET /api/v1/markets HTTP/1.1\r\nHost: a\r\n\r\n${CONNECT}`, {
      responses: 2,
    });
    expect(responses.map(({ status }) => status)).to.be.deep.oneOf([[401], [401, 405]]);
    expect(closed).to.equal(true);
  });

  it('CONNECT counts in server.maxConnectionsPerAddress until its socket closes', async () => {
    await service.close();
    service = await startTestApp({ config: { server: { port: 0, maxConnectionsPerAddress: 2 } } });
    port = Number(new URL(service.url).port);
    const held = await Promise.all([open(port), open(port)]);
    for (const socket of held) socket.write(CONNECT);
    await Promise.all(held.map((socket) => once(socket, 'data')));
    expect(await closed(await open(port, false), 500)).to.equal(true);
    await delay(1500);
    expect((await request(`${service.url}/health`)).status).to.equal(200);
    for (const socket of held) socket.destroy();
  });

  it('closing does not wait for clients without a running request', async () => {
    await service.close();
    // If `close()` waited for these clients, the test would time out.
    service = await startTestApp({ config: { metrics: { port: 0 }, server: { drainMs: 600_000 } } });
    port = Number(new URL(service.url).port);
    metricsPort = Number(new URL(service.metricsUrl!).port);
    const begun = ['', CONNECT, 'GET /api/v1/mark', 'POST /x HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\nhalf'];
    const sockets = await Promise.all([...begun, ...begun].map((_, i) => open(i < begun.length ? port : metricsPort)));
    for (const [i, bytes] of [...begun, ...begun].entries()) sockets[i]!.write(bytes);
    await delay(50);
    await service.close();
    for (const socket of sockets) socket.destroy();
  });
});

describe('random connections', function () {
  this.timeout(60_000);
  let service: FuzzedService | undefined;
  before(function () {
    if (!existsSync('/proc/net/tcp')) skip(this, 'the kernel does not list sockets in /proc/net/tcp');
  });
  afterEach(() => service?.remove());

  for (const workers of [1, 2]) {
    it(`to ${workers === 1 ? 'one process' : 'workers'} crash no process and leak no socket`, async () => {
      const seed = Date.now() % 1_000_000;
      console.log(`      seed ${seed}`);
      service = await startFuzzedService(workers, 1000);
      const { port, metricsPort } = service;
      const held = await fuzz([port, port, metricsPort], 600, seed);
      const deadline = performance.now() + 20_000;
      while (socketsOf(port) > 0 && performance.now() < deadline) await delay(100);
      expect(socketsOf(port), service.log()).to.equal(0);
      for (const socket of held) socket.destroy();
      expect(service.isRunning(), service.log()).to.equal(true);
      const last = await fuzz([port], 200, seed + 1);
      const { ms, code } = await service.stop();
      for (const socket of last) socket.destroy();
      expect(service.log()).to.not.match(/worker exited|uncaught|unhandled/i);
      expect(code, service.log()).to.equal(0);
      // A shutdown takes much less time than `server.drainMs`. The margin allows for a busy machine.
      expect(ms).to.be.below(DRAIN_DELAY_MS + 5000);
    });
  }
});
