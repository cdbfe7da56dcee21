/** Writes a response: the reply that was settled on, with what every response carries. */
import type { ServerResponse } from 'node:http';
import { TurnQueue } from '../event-loop.js';
import type { Exchange, Reply } from './exchange.js';
import { type CommonHeaders, limitHead } from './headers.js';
import type { Payload } from './representation.js';

/** Flat name-value pairs that do not depend on the answer. */
export const commonHead = ({ id, match, decision, request }: Exchange, headers: CommonHeaders): string[] => [
  ...(decision && !match.address?.shared ? limitHead(decision) : []),
  'X-Request-Id',
  id,
  ...headers.always(request.headers.origin),
];

/** Writes nothing where a mount has answered by itself. */
export const writeReply = (exchange: Exchange, reply: Reply, headers: CommonHeaders): void => {
  const { match, request, response } = exchange;
  if (response.headersSent || response.destroyed) return;
  const written = match.address?.mount && response.hasHeader('X-Request-Id');
  response.writeHead(reply.status, written ? [...reply.head] : [...reply.head, ...commonHead(exchange, headers)]);
  endWith(response, request.method === 'HEAD' ? undefined : reply.body);
};

/** Handed to the system at once. It would take four megabytes, and that can be 13 milliseconds in which nobody is answered. */
export const PIECE_BYTES = 256 * 1024;
const largeAnswers = new TurnQueue(0.5);

export const endWith = (response: ServerResponse, body: Payload | undefined): void => {
  if (typeof body === 'string' && response.socket) {
    writeAtOnce(response, body);
    response.end();
  } else if (Buffer.isBuffer(body) && body.length > PIECE_BYTES) void endInPieces(response, body);
  else response.end(body, 'latin1');
};

/**
 * Node's `end(text)` puts an empty piece after the text, and joins the two in memory taken for them, which costs an
 * eighth of the whole request. A text that goes alone is written at once, with the head in front of it; bytes go beside
 * their head in any case, and then the empty piece costs nothing.
 */
const writeAtOnce = (response: ServerResponse, body: Payload): void => {
  // None where the answer waits for that of an earlier request on the same connection.
  response.socket?.cork();
  response.write(body, 'latin1');
  response.socket?.uncork();
};

/** In turn with other large answers, each as fast as it is read. */
const endInPieces = async (response: ServerResponse, body: Buffer): Promise<void> => {
  const pauses = largeAnswers.join();
  for (let at = 0; at < body.length; at += PIECE_BYTES) {
    await pauses.pause();
    // Whoever asked has gone.
    if (response.destroyed) return;
    writeAtOnce(response, body.subarray(at, at + PIECE_BYTES));
    if (response.writableLength > 0) await roomIn(response);
  }
  if (!response.destroyed) response.end();
};

const roomIn = (response: ServerResponse): Promise<void> =>
  new Promise((resolve) => {
    const settle = () => {
      response.off('drain', settle).off('close', settle);
      resolve();
    };
    response.once('drain', settle).once('close', settle);
  });
