/**
 * Lets middleware read and replace a prepared body. `ctx.body` is in one of four states:
 *
 * | State | Reached when | `prepared` | `shown` | `source` | Written by |
 * |---|---|---|---|---|---|
 * | ordinary | middleware sets text, bytes, an object or a stream | | | | Koa |
 * | prepared | a route sets a representation | set | | | `writer.ts` |
 * | read | middleware reads `ctx.body` | set | set | | `writer.ts`; Koa if the object was changed |
 * | encoded | middleware replaces the body with the same content, compressed | | | set | Koa, as a 304 if fresh |
 */
import type Koa from 'koa';
import { identityOf, type Prepared, Representation } from './representation.js';
import { setHead } from './writer.js';

export interface KoaResponse extends Koa.Response {
  prepared?: Prepared | Representation | undefined;
  shown?: unknown;
  /** The original representation. Set only if middleware has compressed the body. */
  source?: Representation | undefined;
}

/** Returns what middleware sees as `ctx.body`: an object for JSON, otherwise text or bytes. */
export const contentOf = ({ type }: KoaResponse, { payload, body }: Prepared): unknown => {
  if (payload === undefined) return undefined;
  if (type === 'application/json') return JSON.parse(String(body));
  return type.startsWith('text/') ? String(body) : body;
};

/** Replaces the prepared body with an ordinary one, unless both have the same bytes. */
export const replace = (response: KoaResponse, prepared: Prepared | Representation, body: unknown): void => {
  if (isSame(prepared, body)) return;
  const isEncoding = response.res.hasHeader('Content-Encoding') && !wasChanged(response);
  response.prepared = undefined;
  setHead(response.res, '');
  // Koa keeps a status only if it was set explicitly. Otherwise it would use 200.
  response.status = response.res.statusCode;
  response.remove('Content-Length');
  if (!(prepared instanceof Representation) || body === null || body === undefined) return;
  // A partial body (206) keeps the ETag of the whole body.
  if (response.get('ETag') !== prepared.identity.etag || response.res.hasHeader('Content-Range')) return;
  if (isEncoding) {
    response.source = prepared;
    response.set('ETag', `W/${prepared.identity.etag}`);
  } else {
    response.remove('ETag');
    response.remove('Last-Modified');
  }
};

const isSame = (prepared: Prepared | Representation, body: unknown): boolean => {
  if (typeof body !== 'string' && !Buffer.isBuffer(body)) return false;
  return Buffer.from(body).equals(identityOf(prepared).body);
};

export const wasChanged = ({ prepared, shown }: KoaResponse): boolean => {
  if (prepared === undefined || typeof shown !== 'object' || shown === null || Buffer.isBuffer(shown)) return false;
  return JSON.stringify(shown) !== String(identityOf(prepared).body);
};
