/** A representation as the answer to one request: 304 or 200, in an encoding that the client takes. */
import type { IncomingHttpHeaders } from 'node:http';
import type { Reply } from './exchange.js';
import { chooseEncoding } from './negotiation.js';
import type { Encoded, Representation } from './representation.js';

export const negotiatedReply = (
  representation: Representation,
  headers: IncomingHttpHeaders,
  compression: boolean,
): Reply | Promise<Reply> => {
  const settle = (encoded: Encoded): Reply =>
    representation.isFresh(headers['if-none-match'], headers['if-modified-since'])
      ? { status: 304, head: encoded.notModifiedHead }
      : { status: 200, head: encoded.head, body: encoded.payload };
  const accepted = headers['accept-encoding'] as string | undefined;
  const encoded = representation.encoding(compression ? chooseEncoding(accepted) : 'identity');
  return encoded instanceof Promise ? encoded.then(settle) : settle(encoded);
};
