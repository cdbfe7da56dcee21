/** Middleware that writes to Node's response must produce the same bytes as in a plain Koa application. */
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { PassThrough, Readable } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import { expect } from 'chai';
import Koa, { type Context, type Middleware } from 'koa';
import { type MiddlewareApp, startMiddlewareApp } from '../../support/middleware-app.js';

const THING = { id: 1, name: 'Thing number 1' };

const ALONE: Readonly<Record<string, (ctx: Context) => unknown>> = {
  'flushHeaders, then a text': (ctx) => {
    ctx.flushHeaders();
    ctx.body = 'hello';
  },
  'a status and a type, flushHeaders, then a text': (ctx) => {
    ctx.status = 202;
    ctx.type = 'text/x';
    ctx.flushHeaders();
    ctx.body = 'hello';
  },
  'a text, then flushHeaders': (ctx) => {
    ctx.body = 'hello';
    ctx.flushHeaders();
  },
  'flushHeaders, then bytes': (ctx) => {
    ctx.status = 200;
    ctx.flushHeaders();
    ctx.body = Buffer.from('hello');
  },
  'flushHeaders, then an object': (ctx) => {
    ctx.status = 200;
    ctx.flushHeaders();
    ctx.body = { a: 1 };
  },
  'an object, then flushHeaders': (ctx) => {
    ctx.body = { a: 1 };
    ctx.flushHeaders();
  },
  'flushHeaders, then a stream': (ctx) => {
    ctx.status = 200;
    ctx.flushHeaders();
    ctx.body = Readable.from(['a', 'b']);
  },
  'a stream, then flushHeaders': (ctx) => {
    ctx.body = Readable.from(['a', 'b']);
    ctx.flushHeaders();
  },
  'flushHeaders, then null': (ctx) => {
    ctx.status = 200;
    ctx.flushHeaders();
    ctx.body = null;
  },
  'flushHeaders alone': (ctx) => {
    ctx.status = 200;
    ctx.flushHeaders();
  },
  'flushHeaders, then headers that are too late': (ctx) => {
    ctx.body = 'hello';
    ctx.flushHeaders();
    ctx.set('X-A', '1');
    ctx.status = 500;
  },
  'res.write, then a body': (ctx) => {
    ctx.res.write('a');
    ctx.body = 'b';
  },
  'a body, then res.write': (ctx) => {
    ctx.body = { a: 1 };
    ctx.res.write('a');
  },
  'res.write and res.end': (ctx) => {
    ctx.status = 200;
    ctx.res.write('a');
    ctx.res.end('b');
  },
  'res.end': (ctx) => {
    ctx.status = 200;
    ctx.res.end('raw');
  },
  'res.end without a body': (ctx) => {
    ctx.status = 200;
    ctx.res.end();
  },
  'res.statusCode and res.end': (ctx) => {
    ctx.res.statusCode = 203;
    ctx.res.setHeader('X-A', '1');
    ctx.res.end(Buffer.from('raw'));
  },
  'res.writeHead with an object, and res.end': (ctx) => {
    ctx.res.writeHead(201, { 'X-A': '1', 'Content-Type': 'text/x' }).end('raw');
  },
  'res.writeHead with a list and a message, and res.end': (ctx) => {
    ctx.res.writeHead(201, 'Made', ['X-A', '1', 'Content-Length', '3']).end('raw');
  },
  'res.writeHead, then a body': (ctx) => {
    ctx.res.writeHead(200, { 'X-A': '1' });
    ctx.body = 'hello';
  },
  'res.end, then a body': (ctx) => {
    ctx.status = 200;
    ctx.res.end('raw');
    ctx.body = 'late';
  },
  'ctx.respond = false, and writes later': (ctx) => {
    ctx.respond = false;
    ctx.status = 200;
    ctx.res.write('a');
    setTimeout(() => ctx.res.end('b'), 20);
  },
  'ctx.respond = false, and a stream that is piped': (ctx) => {
    ctx.respond = false;
    ctx.status = 200;
    Readable.from(['a', 'b']).pipe(ctx.res);
  },
  'writes over some time': async (ctx) => {
    ctx.status = 200;
    for (const piece of 'abc') {
      ctx.res.write(piece);
      await delay(5);
    }
    ctx.res.end();
  },
  'server-sent events': (ctx) => {
    const events = new PassThrough();
    ctx.type = 'text/event-stream';
    ctx.status = 200;
    ctx.flushHeaders();
    ctx.body = events;
    events.write('data: 1\n\n');
    setTimeout(() => events.end('data: 2\n\n'), 20);
  },
  'res.cork, then a body': (ctx) => {
    ctx.res.cork();
    ctx.body = 'hello';
  },
  'no Date header': (ctx) => {
    ctx.res.sendDate = false;
    ctx.body = 'hello';
  },
  'early hints, then a body': (ctx) => {
    ctx.res.writeEarlyHints({ link: '</a>; rel=preload' });
    ctx.body = 'hello';
  },
  trailers: (ctx) => {
    ctx.status = 200;
    // Node throws if a response to HEAD has a Trailer header.
    if (ctx.method === 'GET') ctx.set('Trailer', 'X-A');
    ctx.res.write('a');
    ctx.res.addTrailers({ 'X-A': '1' });
    ctx.res.end();
  },
};

/** Middleware that writes to the raw response. It does so before or after a route sets the body. */
const AROUND_A_ROUTE: Readonly<Record<string, Middleware>> = {
  'next(), then flushHeaders': async (ctx, next) => {
    await next();
    ctx.flushHeaders();
  },
  'next(), then flushHeaders and another body': async (ctx, next) => {
    await next();
    ctx.flushHeaders();
    ctx.body = { other: true };
  },
  'flushHeaders, then next()': async (ctx, next) => {
    ctx.status = 200;
    ctx.flushHeaders();
    await next();
  },
  'res.write, then next()': async (ctx, next) => {
    ctx.status = 200;
    ctx.res.write('[');
    await next();
  },
  'next(), then res.write': async (ctx, next) => {
    await next();
    ctx.res.write('[');
  },
  'next(), then res.end': async (ctx, next) => {
    await next();
    ctx.res.end('raw');
  },
  'next(), a header that is read, then res.end': async (ctx, next) => {
    await next();
    void ctx.response.get('Vary');
    ctx.res.end('raw');
  },
  'next(), a body that is read, then res.end': async (ctx, next) => {
    await next();
    void ctx.body;
    ctx.res.end('raw');
  },
  'next(), then res.writeHead and res.end': async (ctx, next) => {
    await next();
    ctx.res.writeHead(200, { 'Content-Type': 'text/x' }).end('raw');
  },
  'next(), then res.write and res.end': async (ctx, next) => {
    await next();
    ctx.res.write('a');
    ctx.res.end('b');
  },
  'next(), then writes later with ctx.respond = false': async (ctx, next) => {
    await next();
    ctx.respond = false;
    setTimeout(() => ctx.res.end('raw'), 20);
  },
  'res.end, then next()': async (ctx, next) => {
    ctx.status = 200;
    ctx.res.end('raw');
    await next();
  },
  'next(), then a cork': async (ctx, next) => {
    await next();
    ctx.res.cork();
  },
};

/** Matches the header lines that the test compares. The service also sends headers that plain Koa does not send. */
const COMPARED = /^(HTTP\/1\.1|content-type|content-length|transfer-encoding|connection|trailer|x-a|link):?\s/i;

const comparable = (received: string): string =>
  received.replaceAll(/HTTP\/1\.1 [\s\S]*?\r\n\r\n/g, (head) => {
    const lines = head.split('\r\n').filter((line) => COMPARED.test(line));
    const hasDate = /\r\nDate: /.test(head);
    return `${lines.sort().join('\n')}\n${hasDate ? 'with' : 'without'} a date\n\n`;
  });

const DEADLINE_MS = 3000;

const receive = async (port: number, request: string): Promise<string> => {
  let received = '';
  const socket = connect(port, '127.0.0.1');
  socket.on('error', () => undefined).on('data', (chunk) => (received += chunk));
  socket.write(request);
  const isClosed = await Promise.race([
    new Promise<true>((resolve) => socket.once('close', () => resolve(true))),
    delay(DEADLINE_MS, false, { ref: false }),
  ]);
  socket.destroy();
  return isClosed ? received : `${received}\nwas still open after ${DEADLINE_MS} ms`;
};

describe('raw writes', () => {
  let service: MiddlewareApp;
  let port: number;
  let plain: Server;
  let current: Middleware;

  before(async () => {
    service = await startMiddlewareApp();
    port = Number(new URL(service.url).port);
    const koa = new Koa().use((ctx, next) => current(ctx, next));
    koa.use((ctx) => {
      ctx.body = THING;
    });
    koa.silent = true;
    plain = createServer({ noDelay: true }, koa.callback()).listen(0, '127.0.0.1');
    await once(plain, 'listening');
  });
  after(async () => {
    plain.close();
    plain.closeAllConnections();
    await service.close();
  });

  /** The second response on the same connection shows where the first one ends. */
  const both = async (method: string, path: string): Promise<[ours: string, plainKoa: string]> => {
    const head = `${method} ${path} HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${service.key}\r\n`;
    const requests = `${head}\r\n${head}Connection: close\r\n\r\n`;
    const plainPort = (plain.address() as AddressInfo).port;
    const [ours, plainKoa] = await Promise.all([receive(port, requests), receive(plainPort, requests)]);
    return [comparable(ours), comparable(plainKoa)];
  };

  const expectSame = async (path: string): Promise<void> => {
    for (const method of ['GET', 'HEAD']) {
      const [ours, plainKoa] = await both(method, path);
      expect(ours, method).to.equal(plainKoa);
      expect(ours, method).to.not.contain('was still open');
    }
  };

  const PLACES = {
    'in a mount': ['mount', '/api/v1/mount'],
    "in a plugin's middleware": ['own', '/api/v1/things/1'],
    'around the service': ['around', '/api/v1/things/1'],
  } as const;

  for (const [title, [place, path]] of Object.entries(PLACES)) {
    describe(title, () => {
      const cases = place === 'mount' ? ALONE : { ...ALONE, ...AROUND_A_ROUTE };
      for (const [name, middleware] of Object.entries(cases)) {
        it(name, async () => {
          current = middleware as Middleware;
          service.use(place === 'mount' ? { mount: current } : { [place]: [current] });
          await expectSame(place === 'mount' ? path.replace('/api/v1', '') : path);
        });
      }
    });
  }
});

describe('clients of raw writes', () => {
  const open = async (service: MiddlewareApp): Promise<Socket> => {
    const socket = connect(Number(new URL(service.url).port), '127.0.0.1').on('error', () => undefined);
    socket.write('GET /mount HTTP/1.1\r\nHost: a\r\n\r\n');
    await once(socket, 'readable');
    return socket;
  };

  const eventStream = (ctx: Context): void => {
    ctx.type = 'text/event-stream';
    ctx.status = 200;
    ctx.flushHeaders();
    ctx.body = new PassThrough();
    (ctx.body as PassThrough).write('data: 1\n\n');
  };

  it('keep an event stream without events for longer than server.stallTimeoutMs', async () => {
    const service = await startMiddlewareApp({ server: { port: 0, stallTimeoutMs: 300 } });
    service.use({ mount: eventStream });
    const socket = await open(service);
    await delay(1000);
    expect([socket.destroyed, socket.readableEnded]).to.deep.equal([false, false]);
    socket.destroy();
    await service.close();
  });

  it('are not cut off when they read again before server.stallTimeoutMs', async () => {
    const service = await startMiddlewareApp({ server: { port: 0, stallTimeoutMs: 1500 } });
    service.use({
      mount(ctx) {
        ctx.status = 200;
        ctx.body = Readable.from(Array.from({ length: 20 }, () => Buffer.alloc(1024 * 1024)));
      },
    });
    const socket = await open(service);
    await delay(1250);
    let bytes = 0;
    for await (const chunk of socket) {
      bytes += (chunk as Buffer).length;
      if (bytes > 20 * 1024 * 1024) break;
    }
    expect(bytes).to.be.above(20 * 1024 * 1024);
    await service.close();
  });

  it('are cut off after server.stallTimeoutMs when they do not read', async () => {
    const service = await startMiddlewareApp({ server: { port: 0, stallTimeoutMs: 300 } });
    const closed = new Promise<void>((resolve) => {
      service.use({
        mount(ctx) {
          ctx.status = 200;
          ctx.flushHeaders();
          ctx.res.once('close', resolve);
          ctx.body = Readable.from(Array.from({ length: 100 }, () => Buffer.alloc(1024 * 1024)));
        },
      });
    });
    const socket = await open(service);
    socket.pause();
    expect(await Promise.race([closed.then(() => true), delay(5000, false)])).to.equal(true);
    socket.destroy();
    await service.close();
  });

  it('with an open event stream do not delay app.close()', async () => {
    const service = await startMiddlewareApp();
    service.use({ mount: eventStream });
    const sockets = [await open(service), await open(service)];
    const since = performance.now();
    await service.close();
    expect(performance.now() - since).to.be.below(2500);
    for (const socket of sockets) socket.destroy();
  });
});
