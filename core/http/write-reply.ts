/** Writes a response: the reply that was settled on, with what every response carries. */
import type { ServerResponse } from 'node:http';
import { DirectResponse } from './direct-response.js';
import type { Exchange, Reply } from './exchange.js';
import { pairsOf } from './head.js';
import { type CommonHeaders, limitHead } from './headers.js';
import { endInPieces, PIECE_BYTES } from './large-answers.js';

/** The lines that do not depend on the answer. */
export const commonHead = ({ id, match, decision, request }: Exchange, headers: CommonHeaders): string => {
  const limits = decision && !match.address?.shared ? limitHead(decision) : '';
  return limits + headers.always(id, request.headers.origin);
};

/** Writes nothing where a mount has answered by itself. */
export const writeReply = (exchange: Exchange, reply: Reply, headers: CommonHeaders): void => {
  const { match, response } = exchange;
  if (response.headersSent || response.destroyed) return;
  const written = match.address?.mount && response.hasHeader('X-Request-Id');
  const head = written ? reply.head : reply.head + commonHead(exchange, headers);
  send(response, headers, { ...reply, head });
};

/** @param reply with all of its head's lines but those about the connection; HEAD gets no more than these */
export const send = (response: ServerResponse, headers: CommonHeaders, reply: Reply): void => {
  const { status, head } = reply;
  const body = response.req.method === 'HEAD' ? undefined : reply.body;
  const isLarge = Buffer.isBuffer(body) && body.length > PIECE_BYTES;
  if (!isLarge && response instanceof DirectResponse && response.isOrdinary) {
    response.sendAtOnce(status, head + headers.lasting(), body);
    return;
  }
  response.writeHead(status, pairsOf(head));
  if (isLarge) void endInPieces(response, body);
  else response.end(body, 'latin1');
};
