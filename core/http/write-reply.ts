/** Writes a response: the reply that was settled on, with what every response carries. */
import type { Exchange, Reply } from './exchange.js';
import { type CommonHeaders, limitHead } from './headers.js';

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
  if (request.method === 'HEAD' || reply.body === undefined) response.end();
  else response.end(reply.body, 'latin1');
};
