/** Sends bytes to a server and parses the responses, for requests that HTTP clients cannot send. */
import { connect } from 'node:net';

export interface RawResponse {
  readonly status: number;
  /** Header names are in lower case. If a header is repeated, only its last value is kept. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

interface RawExchange {
  readonly responses: readonly RawResponse[];
  readonly closed: boolean;
  readonly rest: string;
}

export interface RawOptions {
  /** Number of responses after which the client disconnects. Default: 1. */
  readonly responses?: number;
  readonly end?: boolean;
  /** Milliseconds to wait until the server closes the connection after the last response. Default: 100. */
  readonly closesWithinMs?: number;
}

const take = (text: string): { response: RawResponse; length: number } | undefined => {
  const end = text.indexOf('\r\n\r\n');
  if (end < 0) return undefined;
  const [line = '', ...fields] = text.slice(0, end).split('\r\n');
  const status = Number(/^HTTP\/1\.1 (\d{3}) /.exec(line)?.[1]);
  const headers = Object.fromEntries(
    fields.map((field) => {
      const colon = field.indexOf(':');
      return [field.slice(0, colon).toLowerCase(), field.slice(colon + 1).trim()];
    }),
  );
  const length = end + 4 + Number(headers['content-length'] ?? 0);
  if (text.length < length) return undefined;
  return { response: { status, headers, body: text.slice(end + 4, length) }, length };
};

/** @param bytes Strings are sent as Latin-1 */
export const exchange = (
  port: number,
  bytes: string | Buffer,
  { responses: wanted = 1, end = false, closesWithinMs = 100 }: RawOptions = {},
): Promise<RawExchange> =>
  new Promise((resolve) => {
    const responses: RawResponse[] = [];
    let rest = '';
    let leaving: NodeJS.Timeout | undefined;
    const socket = connect(port, '127.0.0.1', () => {
      const sent = Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes, 'latin1');
      if (end) socket.end(sent);
      else socket.write(sent);
    });
    const leave = (closed: boolean) => {
      clearTimeout(leaving);
      socket.destroy();
      resolve({ responses, closed, rest });
    };
    socket.on('data', (chunk) => {
      rest += chunk.toString('latin1');
      for (let next = take(rest); next; next = take(rest)) {
        responses.push(next.response);
        rest = rest.slice(next.length);
      }
      if (responses.length < wanted) return;
      // With `Connection: close`, the server must close the connection. Otherwise, there is nothing to wait for.
      if (responses.at(-1)!.headers['connection'] === 'close') leaving ??= setTimeout(leave, closesWithinMs, false);
      else leave(false);
    });
    socket.on('error', () => undefined);
    socket.on('close', () => leave(true));
  });
