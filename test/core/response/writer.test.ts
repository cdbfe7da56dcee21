import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, ServerResponse } from 'node:http';
import { connect, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { expect } from 'chai';
import { listen } from '../../../core/edge/connections.js';
import { commonHeaders, linesOf } from '../../../core/response/headers.js';
import { PIECE_BYTES } from '../../../core/response/large-bodies.js';
import { Prepared, payloadOf } from '../../../core/response/representation.js';
import { FastResponse, send, setHead } from '../../../core/response/writer.js';
import { tryFastWrites } from '../../../core/response/writer-check.js';
import { exchange } from '../../support/raw-http.js';

const bodyOf = (length: number): Buffer => Buffer.alloc(length, 'The quick brown fox jumps over the lazy dog. ');

const KEEP_ALIVE_MS = 7000;
const headers = commonHeaders({ cors: null, keepAliveTimeoutMs: KEEP_ALIVE_MS });

/**
 * Handles test requests. The header `From` names the caller. `/N` returns N bytes, `/N/S` returns N bytes with status
 * S, and `/N/S/high` returns non-ASCII bytes.
 */
const answer = (request: IncomingMessage, response: ServerResponse): void => {
  const [, length = '', status = '200', kind] = request.url?.split('/') ?? [];
  const bytes = kind === 'high' ? Buffer.alloc(Number(length), 'é\u0080\u00ff', 'latin1') : bodyOf(Number(length));
  const content = status === '200' || status === '404' ? { 'Content-Length': length } : {};
  const body = status === '204' || status === '304' ? undefined : payloadOf(bytes);
  const prepared = new Prepared(Number(status), linesOf({ ETag: '"a"', ...content }), body);
  response.statusCode = prepared.status;
  setHead(response, prepared.head);
  send(response, prepared, headers.connectionLines, request.headers.from);
};

const startServer = async (Response: typeof ServerResponse, handle: typeof answer) => {
  const server = createServer({ ServerResponse: Response, keepAliveTimeout: KEEP_ALIVE_MS }, handle);
  return { server, port: await listen(server, 0, '127.0.0.1') };
};

const stopServer = async (server: Server): Promise<void> => {
  const closed = once(server, 'close');
  server.close();
  server.closeAllConnections();
  await closed;
};

describe('send()', () => {
  let direct: Server;
  let byNode: Server;
  let ports: readonly number[];
  before(async () => {
    await tryFastWrites();
    const servers = await Promise.all([startServer(FastResponse, answer), startServer(ServerResponse, answer)]);
    [direct, byNode] = servers.map(({ server }) => server) as [Server, Server];
    ports = servers.map(({ port }) => port);
  });
  after(() => Promise.all([stopServer(direct), stopServer(byNode)]));

  const bytesOf = async (port: number, lines: readonly string[]): Promise<string> => {
    const client = connect(port, '127.0.0.1');
    client.write(`${lines.join('\r\n')}\r\n\r\n`);
    const received: Buffer[] = [];
    for await (const chunk of client) received.push(chunk as Buffer);
    return Buffer.concat(received)
      .toString('latin1')
      .replaceAll(/\r\nDate: \w{3}, \d\d \w{3} \d{4} \d\d:\d\d:\d\d GMT\r\n/g, '\r\nDate: now\r\n');
  };

  const LAST = ['GET /1 HTTP/1.1', 'Host: test', 'Connection: close'];
  const cases: Readonly<Record<string, readonly string[]>> = {
    'a text': ['GET /100 HTTP/1.1', 'Host: test', '', ...LAST],
    bytes: ['GET /100000 HTTP/1.1', 'Host: test', '', ...LAST],
    'an empty body': ['GET /0 HTTP/1.1', 'Host: test', '', ...LAST],
    HEAD: ['HEAD /100 HTTP/1.1', 'Host: test', '', ...LAST],
    'a 204': ['OPTIONS /0/204 HTTP/1.1', 'Host: test', '', ...LAST],
    'a 304': ['GET /100/304 HTTP/1.1', 'Host: test', '', ...LAST],
    'a 404': ['GET /100/404 HTTP/1.1', 'Host: test', '', ...LAST],
    'bytes of a small body': ['GET /3000/200/high HTTP/1.1', 'Host: test', '', ...LAST],
    'bytes of a large body': ['GET /20000/200/high HTTP/1.1', 'Host: test', '', ...LAST],
    'one that closes': LAST,
    'one that closes, with bytes': ['GET /3000/200/high HTTP/1.1', 'Host: test', 'Connection: close'],
    'one that closes, in pieces': ['GET /100000 HTTP/1.1', 'Host: test', 'Connection: close'],
    'a HEAD that closes': ['HEAD /100 HTTP/1.1', 'Host: test', 'Connection: close'],
    'a 304 that closes': ['GET /100/304 HTTP/1.1', 'Host: test', 'Connection: close'],
    'one that closes, of a request with a body': [
      'POST /9 HTTP/1.1',
      'Host: test',
      'Connection: close',
      'Content-Length: 2',
      '',
      '12',
    ],
    'one that expects to be asked for its body': ['GET /1 HTTP/1.1', 'Host: test', 'Expect: 100-continue', '', ...LAST],
    'HTTP/1.0': ['GET /100 HTTP/1.0'],
    'HTTP/1.0 that stays': ['GET /100 HTTP/1.0', 'Connection: keep-alive', '', ...LAST],
    'many at once': [...[1, 50_000, 2].flatMap((length) => [`GET /${length} HTTP/1.1`, 'Host: test', '']), ...LAST],
  };
  for (const [name, lines] of Object.entries(cases)) {
    it(`writes the bytes that Node would: ${name}`, async () => {
      const [direct, byNode] = await Promise.all(ports.map((port) => bytesOf(port, lines)));
      expect(direct).to.match(/^HTTP\/1\.1 \d{3} (?:.*\r\n)*Date: now\r\n/);
      expect(direct === byNode, `${direct?.slice(0, 500)}\n\n${byNode?.slice(0, 500)}`).to.equal(true);
    });
  }
});

describe('FastResponse', () => {
  let server: Server | undefined;
  before(async () => {
    expect(await tryFastWrites()).to.equal(true);
  });
  afterEach(async () => {
    if (server) await stopServer(server);
  });

  const yes = new Prepared(200, linesOf({ 'Content-Length': '3' }), 'yes');

  const respond = async (handle: (response: FastResponse) => void) => {
    const responses: ServerResponse[] = [];
    const started = await startServer(FastResponse, (_request, response) => {
      responses.push(response);
      handle(response as FastResponse);
    });
    server = started.server;
    const { responses: received } = await exchange(started.port, 'GET / HTTP/1.1\r\nHost: test\r\n\r\n');
    return { response: responses[0]!, received: received[0]! };
  };

  it('is marked as sent, and finishes when the operating system has accepted it', async () => {
    const told: unknown[] = [];
    const { response, received } = await respond((response) => {
      const tell = () => told.push([response.headersSent, response.writableEnded, response.fastState]);
      tell();
      response.once('finish', () => told.push('finish'));
      response.once('close', () => told.push('close'));
      response.statusCode = 404;
      response.send(new Prepared(404, linesOf({ 'Content-Length': '2' }), 'no'), headers.connectionLines);
      tell();
    });
    expect(received).to.deep.include({ status: 404, body: 'no' });
    expect(told).to.deep.equal([[false, false, 'no'], [true, true, 'sent'], 'finish', 'close']);
    expect(response.statusCode).to.equal(404);
    expect(response.writableFinished).to.equal(true);
  });

  describe('releases its request', () => {
    const answerTwice = async (first: string, listen: (request: IncomingMessage) => void = () => undefined) => {
      const requests: IncomingMessage[] = [];
      const held: boolean[] = [];
      const started = await startServer(FastResponse, (request, response) => {
        listen(request);
        requests.push(request);
        response.once('close', () => held.push(parserOf(request.socket)?.incoming === request));
        (response as FastResponse).statusCode = 200;
        (response as FastResponse).send(yes, headers.connectionLines);
      });
      server = started.server;
      const { responses } = await exchange(
        started.port,
        `${first}GET / HTTP/1.1\r\nHost: test\r\nConnection: close\r\n\r\n`,
      );
      expect(responses.map(({ status, body }) => [status, body])).to.deep.equal([
        [200, 'yes'],
        [200, 'yes'],
      ]);
      return { request: requests[0]!, held: held[0] };
    };

    const parserOf = (socket: Socket) => (socket as { readonly parser?: { readonly incoming: unknown } | null }).parser;
    const GET = 'GET / HTTP/1.1\r\nHost: test\r\n\r\n';
    const POST = 'POST / HTTP/1.1\r\nHost: test\r\nContent-Length: 5\r\n\r\n12345';
    const CHUNKED = 'POST / HTTP/1.1\r\nHost: test\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n12345\r\n0\r\n\r\n';

    it('without reading its stream if it has no listener', async () => {
      const { request, held } = await answerTwice(GET);
      expect(held).to.equal(false);
      expect(request.readableEnded).to.equal(false);
    });

    for (const event of ['end', 'close']) {
      it(`after its ${event} if it has a listener`, async () => {
        let heard = 0;
        await answerTwice(GET, (request) => {
          if (request.headers.connection === undefined) request.once(event, () => heard++).resume();
        });
        expect(heard).to.equal(1);
      });
    }

    for (const [name, request] of Object.entries({ POST, CHUNKED })) {
      it(`with an unread body: ${name}`, async () => {
        expect((await answerTwice(request)).request.readableEnded).to.equal(true);
      });
    }
  });

  it('is written by Node if it already has headers', async () => {
    const { received } = await respond((response) => {
      response.setHeader('X-Own', 'kept');
      response.send(yes, headers.connectionLines);
    });
    expect(received).to.deep.include({ status: 200, body: 'yes' });
    expect(received.headers).to.include({ 'x-own': 'kept', connection: 'keep-alive', 'keep-alive': 'timeout=7' });
  });

  it('writes nothing more after it has been sent', async () => {
    const { received } = await respond((response) => {
      response.send(yes, headers.connectionLines);
      response.end();
    });
    expect(received).to.deep.include({ status: 200, body: 'yes' });
  });
});

describe('large bodies', () => {
  let server: Server;
  let port: number;
  let responses: ServerResponse[];
  const clients: Socket[] = [];

  beforeEach(async () => {
    responses = [];
    const started = await startServer(FastResponse, (request, response) => {
      responses.push(response);
      answer(request, response);
    });
    ({ server, port } = started);
  });

  afterEach(async () => {
    for (const client of clients.splice(0)) client.destroy();
    await stopServer(server);
  });

  const requestsOf = (lengths: readonly number[]): string =>
    lengths.map((length) => `GET /${length} HTTP/1.1\r\nHost: test\r\n\r\n`).join('');

  const expectAnswers = async (...lengths: readonly number[]): Promise<void> => {
    const { responses, rest } = await exchange(port, requestsOf(lengths), { responses: lengths.length });
    expect(responses.map(({ headers }) => headers['content-length'])).to.deep.equal(lengths.map(String));
    for (const [i, length] of lengths.entries()) {
      expect(responses[i]!.body === bodyOf(length).toString('latin1')).to.equal(true);
    }
    expect(rest).to.equal('');
  };

  /** Resolves when the server has to wait for the client, which does not read the responses. */
  const askUnread = async (...lengths: readonly number[]): Promise<Socket> => {
    const client = connect(port, '127.0.0.1').pause();
    clients.push(client);
    client.write(requestsOf(lengths));
    while (!responses[0]?.writableNeedDrain) await delay(5);
    return client;
  };

  const LENGTHS = [0, 1, PIECE_BYTES - 1, PIECE_BYTES, PIECE_BYTES + 1, 2 * PIECE_BYTES, 5 * PIECE_BYTES + 3];

  it('sends bodies of every length around the size of a piece', async () => {
    for (const length of LENGTHS) await expectAnswers(length);
  });

  it('sends pipelined bodies in order', async () => {
    await expectAnswers(...LENGTHS, ...LENGTHS.toReversed());
  });

  it('sends at most one piece per turn of the event loop', async () => {
    let turns = 0;
    let other = setImmediate(function again() {
      turns++;
      other = setImmediate(again);
    });
    await Promise.all(Array.from({ length: 20 }, () => expectAnswers(PIECE_BYTES + 1)));
    clearImmediate(other);
    expect(turns).to.be.at.least(20);
  });

  it('alternates between the body of one caller and the 40 bodies of another caller', async () => {
    const ask = (caller: string, bytes: number) => {
      const client = connect(port, '127.0.0.1').resume();
      clients.push(client);
      client.write(`GET /${bytes} HTTP/1.1\r\nHost: test\r\nFrom: ${caller}\r\n\r\n`);
    };
    const bodies = 40;
    for (let i = 0; i < bodies; i++) ask('busy', 40 * PIECE_BYTES);
    while (responses.length < bodies) await delay(1);
    const bytesOfBusy = () =>
      responses.slice(0, bodies).reduce((sum, { socket }) => sum + (socket?.bytesWritten ?? 0), 0);
    const own = 4 * PIECE_BYTES;
    const meanwhile = new Promise<number>((resolve) => {
      server.once('request', (_request, response: ServerResponse) => {
        const before = bytesOfBusy();
        response.once('finish', () => resolve(bytesOfBusy() - before));
      });
    });
    ask('other', own);
    expect(await meanwhile).to.be.below(10 * own);
  });

  it('continues when the client reads again, and buffers at most one piece', async () => {
    const client = await askUnread(40 * PIECE_BYTES);
    await delay(50);
    expect(responses[0]?.writableLength).to.be.below(2 * PIECE_BYTES);
    const received: Buffer[] = [];
    client.on('data', (chunk: Buffer) => received.push(chunk)).resume();
    await once(responses[0]!, 'finish');
    client.end();
    await once(client, 'close');
    const all = Buffer.concat(received);
    expect(all.subarray(all.indexOf('\r\n\r\n') + 4).equals(bodyOf(40 * PIECE_BYTES))).to.equal(true);
  });

  it('ends even if no drain event follows the last, small piece', async () => {
    server.once('request', (_request, { socket }: ServerResponse) => {
      // The socket buffer is full at the start, and again after the first chunk.
      socket?.cork();
      setTimeout(() => {
        socket?.prependOnceListener('drain', () => socket.cork());
        socket?.uncork();
      }, 5);
    });
    await expectAnswers(PIECE_BYTES + 1);
  });

  it('ends when the client disconnects, even if more responses are waiting', async () => {
    const client = await askUnread(40 * PIECE_BYTES, 40 * PIECE_BYTES, 10);
    client.destroy();
    while (!responses[0]?.destroyed) await delay(5);
    expect(responses.map(({ writableEnded }) => writableEnded)).to.deep.equal([false, false, true]);
    await expectAnswers(3 * PIECE_BYTES);
  });
});
