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
  if (request.method !== 'HEAD' && reply.body !== undefined) writeBody(response, reply.body);
  response.end();
};

/**
 * `end(body)` would put an empty piece after it, and two pieces are joined in memory taken for them, which costs an
 * eighth of the whole request: a text that goes alone is written at once, with the head in front of it.
 */
export const writeBody = (response: ServerResponse, body: Payload): void => {
  // None where the answer waits for that of an earlier request on the same connection.
  const { socket } = response;
  socket?.cork();
  response.write(body, 'latin1');
  socket?.uncork();
};
