import { connect } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';

export interface Message {
  readonly method?: string;
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

export const formatRequest = ({ method = 'GET', path, headers = {}, body = '' }: Message): string => {
  const fields = { Host: 'bench', ...headers, ...(body && { 'Content-Length': String(Buffer.byteLength(body)) }) };
  const lines = Object.entries(fields).map(([name, value]) => `${name}: ${value}\r\n`);
  return `${method} ${path} HTTP/1.1\r\n${lines.join('')}\r\n${body}`;
};

interface Received {
  /** 0 if the connection was closed without a response. */
  readonly status: number;
  readonly etag: string | null;
}

export const send = async (port: number, { path, ...options }: Message): Promise<Received> => {
  try {
    const response = await fetch(`http://127.0.0.1:${port}${path}`, options);
    await response.arrayBuffer();
    return { status: response.status, etag: response.headers.get('ETag') };
  } catch {
    return { status: 0, etag: null };
  }
};

/**
 * Sends bytes on a new connection. Ends when the server closes the connection or `ms` milliseconds have passed.
 * @param options with `reads: false`, the client does not read the responses
 * @returns the statuses of the responses
 */
export const exchange = (port: number, bytes: string, { reads = true, ms = 5000 } = {}): Promise<readonly number[]> =>
  new Promise((resolve) => {
    const statuses: number[] = [];
    let rest = '';
    const socket = connect(port, '127.0.0.1', () => socket.write(bytes, 'latin1'));
    const receive = (chunk: Buffer): void => {
      const text = rest + chunk.toString('latin1');
      for (const [, status] of text.matchAll(/HTTP\/1\.1 (\d{3})/g)) statuses.push(Number(status));
      rest = text.slice(-11);
    };
    if (reads) socket.on('data', receive);
    else socket.pause();
    const timer = setTimeout(() => socket.destroy(), ms);
    socket.on('error', () => undefined);
    socket.once('close', () => {
      clearTimeout(timer);
      resolve(statuses);
    });
  });

export const repeat = async (perSecond: number, seconds: number, task: () => Promise<unknown>): Promise<void> => {
  const started = performance.now();
  const running: Promise<unknown>[] = [];
  for (let i = 1; performance.now() - started < seconds * 1000; i++) {
    running.push(task());
    await delay(Math.max(0, started + (i * 1000) / perSecond - performance.now()));
  }
  await Promise.all(running);
};
