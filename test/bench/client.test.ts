import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect } from 'chai';
import { exchange, formatRequest, repeat, send } from '../../bench/client.js';

describe('bench/client.ts', () => {
  let server: Server;
  let port: number;
  before(async () => {
    server = createServer((request, response) => {
      if (request.url === '/closed') request.socket.destroy();
      else if (request.url === '/missing') response.writeHead(404).end();
      else response.writeHead(200, { ETag: '"v1"' }).end('x'.repeat(100_000));
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    port = (server.address() as AddressInfo).port;
  });
  after(() => {
    server.close();
    server.closeAllConnections();
  });

  it('send returns status and ETag, and status 0 if the connection is closed without a response', async () => {
    expect(await send(port, { path: '/found' })).to.deep.equal({ status: 200, etag: '"v1"' });
    expect(await send(port, { path: '/closed' })).to.deep.equal({ status: 0, etag: null });
  });

  it('exchange returns the statuses of all pipelined responses', async () => {
    const last = formatRequest({ path: '/missing', headers: { Connection: 'close' } });
    const statuses = await exchange(port, formatRequest({ path: '/found' }).repeat(3) + last);
    expect(statuses).to.deep.equal([200, 200, 200, 404]);
  });

  it('exchange closes the connection after the given time', async () => {
    const started = performance.now();
    expect(await exchange(port, formatRequest({ path: '/found' }), { reads: false, ms: 50 })).to.deep.equal([]);
    expect(performance.now() - started).to.be.at.least(49);
  });

  it('formatRequest adds the length of a body in bytes', () => {
    expect(formatRequest({ method: 'POST', path: '/a', body: 'é' })).to.equal(
      'POST /a HTTP/1.1\r\nHost: bench\r\nContent-Length: 2\r\n\r\né',
    );
  });

  it('repeat calls the task without waiting for earlier calls, and resolves when all have ended', async () => {
    let [running, most, ended] = [0, 0, 0];
    await repeat(20, 0.5, async () => {
      most = Math.max(most, ++running);
      await send(port, { path: '/found' });
      await new Promise((resolve) => setTimeout(resolve, 400));
      running--;
      ended++;
    });
    expect(running).to.equal(0);
    expect(ended).to.be.within(1, 11);
    expect(most).to.be.above(1);
  });
});
