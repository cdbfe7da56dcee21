/** bench/arrival.js: open-loop load of a list of requests, over kept and fresh connections. */
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect } from 'chai';
import type { ArrivalOrders, ArrivalResult } from '../../bench/arrival.js';
import { type PlannedRequest, writeRequests } from '../../bench/request-list.js';

const program = fileURLToPath(new URL('../../bench/arrival.js', import.meta.url));

interface Seen {
  readonly url: string | undefined;
  readonly key: string | undefined;
  readonly port: number | undefined;
}

describe('bench/arrival.js', () => {
  let folder: string;
  let server: Server;
  let seen: Seen[];

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'arrival-test-'));
    server = createServer(({ url, headers, socket }, response) => {
      seen.push({ url, key: headers.authorization, port: socket.remotePort });
      if (headers['if-none-match']) response.writeHead(304).end();
      else if (url === '/missing') response.writeHead(404, { 'Content-Length': 2 }).end('{}');
      else if (url === '/limited') response.writeHead(429, { 'Content-Length': 2 }).end('{}');
      else response.writeHead(200, { 'Content-Length': 100_000 }).end('x'.repeat(100_000));
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
  });

  beforeEach(() => {
    seen = [];
  });

  after(async () => {
    server.close();
    await rm(folder, { recursive: true });
  });

  const run = async (requests: readonly PlannedRequest[], connections: number): Promise<ArrivalResult> => {
    const { file } = await writeRequests(folder, requests);
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const orders: ArrivalOrders = { url, requests: file, rate: 100, seconds: 0.4, warmUpSeconds: 0.2, connections };
    const { stdout } = await promisify(execFile)(process.execPath, [program, JSON.stringify(orders)]);
    return JSON.parse(stdout);
  };

  it('sends the list again and again at its rate, whatever is answered, and counts what came after the warm-up', async () => {
    const requests = [
      { path: '/large', key: 'one' },
      { path: '/missing', key: 'two' },
      { path: '/large', key: 'one', headers: { 'If-None-Match': '"etag"' } },
    ];
    const { requests: counted, p50, max } = await run(requests, 1);
    expect(counted).to.equal(40);
    expect(p50).to.be.above(0).and.at.most(max);
    expect(seen).to.have.length(60);
    expect(seen.map(({ url }) => url)).to.deep.equal(
      Array.from({ length: 20 }, () => requests.map(({ path }) => path)).flat(),
    );
    expect(seen.slice(0, 3).map(({ key }) => key)).to.deep.equal(['Bearer one', 'Bearer two', 'Bearer one']);
    expect(new Set(seen.map(({ port }) => port)).size).to.equal(1);
  });

  it('takes a fresh connection after a request that closes its own', async () => {
    await run([{ path: '/large', key: 'one', closes: true }], 1);
    expect(new Set(seen.map(({ port }) => port)).size).to.equal(60);
  });

  it('fails where a limit refuses', async () => {
    const failure = await run([{ path: '/limited', key: 'one' }], 1).catch((error: Error) => error);
    expect(failure).to.be.instanceOf(Error).with.property('message').that.includes('429');
  });
});
