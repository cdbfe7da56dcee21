import { once } from 'node:events';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { assert } from 'chai';
import { startTcpProxy, type TcpFault, type TcpProxy } from './tcp-proxy.js';

describe('a TCP proxy', () => {
  let server: Server;
  let proxy: TcpProxy;
  let received: string;
  let ended: number;

  beforeEach(async () => {
    received = '';
    ended = 0;
    server = createServer((socket) => {
      socket.on('error', () => undefined);
      socket.on('close', () => ended++);
      socket.on('data', (data) => {
        received += data;
        socket.write(`${data}`.toUpperCase());
      });
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    proxy = await startTcpProxy((server.address() as { port: number }).port);
  });

  afterEach(async () => {
    await proxy.close();
    server.close();
  });

  const open = async () => {
    const socket: Socket = connect(proxy.port, '127.0.0.1');
    const seen = { text: '', error: '' };
    socket.on('data', (data) => {
      seen.text += data;
    });
    socket.on('error', (error: NodeJS.ErrnoException) => {
      seen.error = error.code ?? '';
    });
    await once(socket, 'connect');
    const say = async (text: string, back = text.length): Promise<number> => {
      const since = performance.now();
      const wanted = seen.text.length + back;
      socket.write(text);
      while (seen.text.length < wanted && !socket.destroyed) await delay(1);
      return performance.now() - since;
    };
    return { socket, seen, say };
  };

  const inject = async (fault: TcpFault) => {
    const connection = await open();
    await connection.say('a');
    proxy.inject(fault);
    return connection;
  };

  it('without a fault forwards all data and the end in both directions', async () => {
    const { socket, seen, say } = await open();
    await say('x'.repeat(100_000));
    assert.equal(seen.text, 'X'.repeat(100_000));
    socket.end();
    await once(socket, 'close');
    while (ended === 0) await delay(1);
  });

  it('latency: delays each direction, keeps the order, and ends with heal()', async () => {
    const { seen, say } = await inject({ latencyMs: 60, jitterMs: 20 });
    assert.isAtLeast(await say('b'), 119);
    const late = Promise.all([say('c', 1), say('d', 2)]);
    proxy.inject({ latencyMs: 1_000_000 });
    const stuck = say('e', 3);
    proxy.heal();
    await Promise.all([late, stuck]);
    assert.equal(seen.text, 'ABCDE');
  });

  it('bandwidth: limits bytes per second in each direction', async () => {
    const { say } = await inject({ bytesPerSecond: 1000 });
    // The echoed first half is sent back while the second half is still arriving.
    assert.isAtLeast(await say('x'.repeat(100)), 140);
  });

  it('resets: closes both ends after a given number of bytes', async () => {
    const { socket, seen, say } = await inject({ resetAfterBytes: 4 });
    await say('bc');
    assert.equal(seen.text, 'ABC');
    const closed = once(socket, 'close').catch(() => undefined);
    await say('d');
    await closed;
    assert.equal(seen.error, 'ECONNRESET');
    while (ended === 0) await delay(1);
  });

  it('cut replies: requests arrive, responses stop midway, and heal() does not restore them', async () => {
    const { seen, say } = await inject({ replyBytes: 2 });
    await say('bcd', 2);
    proxy.heal();
    await say('e', 0);
    while (!received.endsWith('e')) await delay(1);
    await delay(20);
    assert.deepEqual([received, seen.text], ['abcde', 'ABC']);
    await (await open()).say('new');
  });

  it('half-open: old and new connections go silent but stay open; only connections made after heal() work', async () => {
    const idle = await open();
    await idle.say('i');
    const { socket, seen, say } = await inject({ halfOpen: true });
    await say('b', 0);
    const hopeful = await open();
    await hopeful.say('c', 0);
    socket.destroy();
    await delay(20);
    proxy.heal();
    await Promise.all([idle.say('d', 0), hopeful.say('e', 0)]);
    await (await open()).say('f');
    assert.deepEqual([received, seen.text, ended], ['iaf', 'A', 0]);
  });
});
