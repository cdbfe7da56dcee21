import { createServer } from 'node:http';
import { Duplex } from 'node:stream';
import { Prepared } from './representation.js';
import { allowFastWrites, FastResponse } from './writer.js';

const CHECK_MS = 1000;

let check: Promise<boolean> | undefined;

/**
 * Checks that the fast writer works with this version of Node. Node must treat a fast response as finished, continue
 * with the next request, and close the connection if required. Until this check has succeeded, Node writes all
 * responses.
 */
export const tryFastWrites = (): Promise<boolean> => {
  check ??= tryOnce().then((work) => {
    allowFastWrites(work);
    return work;
  });
  return check;
};

const tryOnce = (): Promise<boolean> =>
  new Promise((resolve) => {
    const seen: unknown[] = [];
    let received = '';
    const connection = new Duplex({
      read: () => undefined,
      write(chunk: Buffer, _encoding, callback) {
        received += chunk.toString('latin1');
        setImmediate(callback);
      },
    });
    const server = createServer({ ServerResponse: FastResponse });
    const settle = (work: boolean): void => {
      clearTimeout(timer);
      connection.destroy();
      server.close();
      resolve(work);
    };
    const timer = setTimeout(settle, CHECK_MS, false);
    server.on('clientError', () => settle(false));
    connection.once('finish', () => settle(wasAsExpected(seen, received)));
    server.on('request', (request, response) => {
      response.once('finish', () => seen.push(response.writableFinished, response.socket === null));
      if (request.url === '/second') {
        response.once('close', () => connection.push('GET /third HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n'));
        response.end('second');
      } else seen.push(...writeFast(response as FastResponse, request.url === '/first' ? 'first' : 'third'));
    });
    server.emit('connection', connection);
    connection.push('GET /first HTTP/1.1\r\nHost: a\r\n\r\nGET /second HTTP/1.1\r\nHost: a\r\n\r\n');
  });

const writeFast = (response: FastResponse, body: string): unknown[] => {
  const connectionLines = (isKept: boolean): string => (isKept ? '' : 'Connection: close\r\n');
  allowFastWrites(true);
  response.send(new Prepared(200, `Content-Length: ${body.length}\r\n`, body), connectionLines);
  allowFastWrites(false);
  return [response.fastState, response.headersSent, response.writableEnded, response.writableFinished];
};

const WRITTEN_FAST = 'sent,true,true,false,true,true';

const wasAsExpected = (seen: readonly unknown[], received: string): boolean =>
  String(seen) === `${WRITTEN_FAST},true,true,${WRITTEN_FAST}` &&
  received.startsWith('HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nfirstHTTP/1.1 200 OK\r\n') &&
  received.endsWith('\r\n\r\nsecondHTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: close\r\n\r\nthird');
