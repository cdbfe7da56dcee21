/** Bodies on their way to the socket: large ones in pieces, between which others are answered. */
import { once } from 'node:events';
import { createServer, type Server, type ServerResponse } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { expect } from 'chai';
import { endWith, PIECE_BYTES } from '../../../core/http/write-reply.js';

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

  const ask = async (...lengths: readonly number[]): Promise<Socket> => {
    const client = connect(port, '127.0.0.1');
    clients.push(client);
    await once(client, 'connect');
    client.write(lengths.map((length) => `GET /${length} HTTP/1.1\r\nHost: test\r\n\r\n`).join(''));
    return client;
  };

  /** Reads answers of these lengths, and compares them byte by byte. */
  const expectAnswers = async (client: Socket, lengths: readonly number[]): Promise<void> => {
    let received = Buffer.alloc(0);
    for (const length of lengths) {
      let begin = -1;
      for (;;) {
        begin = received.indexOf('\r\n\r\n');
        if (begin !== -1 && received.length >= begin + 4 + length) break;
        received = Buffer.concat([received, (await once(client, 'data'))[0] as Buffer]);
      }
      expect(received.subarray(0, begin).toString()).to.include(`Content-Length: ${length}`);
      expect(received.subarray(begin + 4, begin + 4 + length).equals(bodyOf(length))).to.equal(true);
      received = received.subarray(begin + 4 + length);
    }
    expect(received.length).to.equal(0);
  };

  const LENGTHS = [0, 1, PIECE_BYTES - 1, PIECE_BYTES, PIECE_BYTES + 1, 2 * PIECE_BYTES, 5 * PIECE_BYTES + 3];

  it('delivers bodies of every length around that of a piece', async () => {
    for (const length of LENGTHS) await expectAnswers(await ask(length), [length]);
  });

  it('delivers those that were asked for at once on one connection, in order', async () => {
    const lengths = [...LENGTHS, ...LENGTHS.toReversed()];
    await expectAnswers(await ask(...lengths), lengths);
  });

  it('takes no two of them in one turn of the loop', async () => {
    let turns = 0;
    let other = setImmediate(function again() {
      turns++;
      other = setImmediate(again);
    });
    const lengths = Array.from({ length: 20 }, () => PIECE_BYTES + 1);
    await Promise.all(lengths.map(async (length) => expectAnswers(await ask(length), [length])));
    clearImmediate(other);
    expect(turns).to.be.at.least(20);
  });

  it('goes on when there is room again, and holds no more than a piece meanwhile', async () => {
    const lengths = [40 * PIECE_BYTES];
    const client = await ask(...lengths);
    client.pause();
    while (!responses[0]?.writableNeedDrain) await delay(5);
    await delay(50);
    expect(responses[0]?.writableLength).to.be.below(2 * PIECE_BYTES);
    client.resume();
    await expectAnswers(client, lengths);
  });

  it('ends with a client that goes in the middle, also where answers wait behind that one', async () => {
    const client = await ask(40 * PIECE_BYTES, 40 * PIECE_BYTES, 10);
    client.pause();
    while (!responses[0]?.writableNeedDrain) await delay(5);
    client.destroy();
    while (!responses[0]?.destroyed) await delay(5);
    expect(responses.map(({ writableEnded }) => writableEnded)).to.deep.equal([false, false, true]);
    await expectAnswers(await ask(3 * PIECE_BYTES), [3 * PIECE_BYTES]);
  });
});
