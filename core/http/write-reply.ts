/** Writes a response: the reply that was settled on, with what every response carries. */
import type { ServerResponse } from 'node:http';
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

/**
 * Node's `end(text)` puts an empty piece after the text, and joins the two in memory taken for them, which costs an
 * eighth of the whole request. A text that goes alone is written at once, with the head in front of it; bytes go beside
 * their head in any case, and then the empty piece costs nothing.
 */
export const endWith = (response: ServerResponse, body: Payload | undefined): void => {
  // None where the answer waits for that of an earlier request on the same connection.
  const { socket } = response;
  if (typeof body !== 'string' || !socket) {
    response.end(body, 'latin1');
    return;
  }
  socket.cork();
  response.write(body, 'latin1');
  socket.uncork();
  response.end();
};
