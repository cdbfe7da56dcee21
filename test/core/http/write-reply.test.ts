/** Bodies on their way to the socket: large ones in pieces, between which others are answered. */
import { once } from 'node:events';
import { createServer, type Server, type ServerResponse } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { expect } from 'chai';
import { endWith, PIECE_BYTES } from '../../../core/http/write-reply.js';
import { exchange } from '../../support/raw-http.js';

const bodyOf = (length: number): Buffer => Buffer.alloc(length, 'The quick brown fox jumps over the lazy dog. ');

describe('endWith()', () => {
  let server: Server;
  let port: number;
  let responses: ServerResponse[];
  const clients: Socket[] = [];

  /** Answers `/N` with N bytes. */
  beforeEach(async () => {
    responses = [];
    server = createServer((request, response) => {
      responses.push(response);
      const body = bodyOf(Number(request.url?.slice(1)));
      response.writeHead(200, ['Content-Length', String(body.length)]);
      endWith(response, body);
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    port = (server.address() as AddressInfo).port;
  });

  afterEach(async () => {
    for (const client of clients.splice(0)) client.destroy();
    await new Promise((resolve) => server.close(resolve));
  });

  const requestsOf = (lengths: readonly number[]): string =>
    lengths.map((length) => `GET /${length} HTTP/1.1\r\nHost: test\r\n\r\n`).join('');

  /** Asks for bodies of these lengths at once, and compares them byte by byte. */
  const expectAnswers = async (...lengths: readonly number[]): Promise<void> => {
    const { responses, rest } = await exchange(port, requestsOf(lengths), { responses: lengths.length });
    expect(responses.map(({ headers }) => headers['content-length'])).to.deep.equal(lengths.map(String));
    for (const [i, length] of lengths.entries()) {
      expect(responses[i]!.body === bodyOf(length).toString('latin1')).to.equal(true);
    }
    expect(rest).to.equal('');
  };

  /** Asks and reads nothing, until the server has to wait for that. */
  const askUnread = async (...lengths: readonly number[]): Promise<Socket> => {
    const client = connect(port, '127.0.0.1').pause();
    clients.push(client);
    client.write(requestsOf(lengths));
    while (!responses[0]?.writableNeedDrain) await delay(5);
    return client;
  };

  const LENGTHS = [0, 1, PIECE_BYTES - 1, PIECE_BYTES, PIECE_BYTES + 1, 2 * PIECE_BYTES, 5 * PIECE_BYTES + 3];

  it('delivers bodies of every length around that of a piece', async () => {
    for (const length of LENGTHS) await expectAnswers(length);
  });

  it('delivers those that were asked for at once on one connection, in order', async () => {
    await expectAnswers(...LENGTHS, ...LENGTHS.toReversed());
  });

  it('takes no two of them in one turn of the loop', async () => {
    let turns = 0;
    let other = setImmediate(function again() {
      turns++;
      other = setImmediate(again);
    });
    await Promise.all(Array.from({ length: 20 }, () => expectAnswers(PIECE_BYTES + 1)));
    clearImmediate(other);
    expect(turns).to.be.at.least(20);
  });

  it('goes on when there is room again, and holds no more than a piece meanwhile', async () => {
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

  it('ends with a client that goes in the middle, also where answers wait behind that one', async () => {
    const client = await askUnread(40 * PIECE_BYTES, 40 * PIECE_BYTES, 10);
    client.destroy();
    while (!responses[0]?.destroyed) await delay(5);
    expect(responses.map(({ writableEnded }) => writableEnded)).to.deep.equal([false, false, true]);
    await expectAnswers(3 * PIECE_BYTES);
  });
});
