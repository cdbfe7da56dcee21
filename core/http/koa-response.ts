/**
 * Koa's response, whose body may be a `Representation` or `Prepared` bytes. They are sent as they are for as long as
 * nobody looks; to middleware that do, they are an ordinary body: an object where it is JSON, a text, or bytes.
 */
import type { ServerResponse } from 'node:http';
import type Koa from 'koa';
import { Prepared } from './prepared.js';
import { PreparedResponse, setLines } from './prepared-response.js';
import { Representation } from './representation.js';

/** What a response has beside Koa's own. */
export interface PreparedBody {
  /** The body that was given; undefined where it was an ordinary one. */
  prepared?: Prepared | Representation | undefined;
  /** What middleware have been shown of it. */
  shown?: unknown;
  /** The representation that the present body is an encoding of, where middleware have encoded it. */
  encoded?: Representation | undefined;
}

type Body = PropertyDescriptor & Required<Pick<PropertyDescriptor, 'get' | 'set'>>;

/** @param prototype of one application's responses */
export const acceptPrepared = (prototype: Koa.BaseResponse): void => {
  const inherited = Object.getOwnPropertyDescriptor(Object.getPrototypeOf(prototype), 'body') as Body;
  Object.defineProperty(prototype, 'body', {
    configurable: true,
    get(this: Koa.Response & PreparedBody): unknown {
      if (this.prepared === undefined) return inherited.get.call(this);
      this.shown ??= contentOf(this, identityOf(this.prepared));
      return this.shown;
    },
    set(this: Koa.Response & PreparedBody, body: unknown): void {
      if (body instanceof Prepared || body instanceof Representation) prepare(this, body);
      else {
        if (this.prepared !== undefined && !isSame(this.prepared, body)) replace(this, this.prepared, body);
        if (this.prepared === undefined) inherited.set.call(this, body);
      }
    },
  });
};

const identityOf = (body: Prepared | Representation): Prepared =>
  body instanceof Representation ? body.identity : body;

const prepare = (response: Koa.Response & PreparedBody, body: Prepared | Representation): void => {
  const { res } = response;
  const { status, head } = identityOf(body);
  response.prepared = body;
  if (response.shown !== undefined) response.shown = undefined;
  if (response.encoded !== undefined) response.encoded = undefined;
  res.statusCode = status;
  setHead(res, head);
};

const setHead = (res: ServerResponse, head: string): void => {
  if (res instanceof PreparedResponse) res.setHead(head);
  else setLines(res, head);
};

/** Adds lines that every response carries. */
export const addLines = (res: ServerResponse, lines: string): void => {
  if (res instanceof PreparedResponse) res.addLines(lines);
  else setLines(res, lines);
};

const contentOf = ({ type }: Koa.Response, { payload }: Prepared): unknown => {
  if (payload === undefined) return undefined;
  if (type === 'application/json') return JSON.parse(String(payload));
  return type.startsWith('text/') ? String(payload) : payload;
};

/** Whether a body given as text or bytes is the prepared one. */
const isSame = (prepared: Prepared | Representation, body: unknown): boolean => {
  if (typeof body !== 'string' && !Buffer.isBuffer(body)) return false;
  const { payload = '' } = identityOf(prepared);
  return Buffer.from(body).equals(Buffer.from(payload));
};

/** Takes the prepared body's validators away with it, unless the other one is the same content in an encoding. */
const replace = (response: Koa.Response & PreparedBody, prepared: Prepared | Representation, body: unknown): void => {
  const isEncoding = response.res.hasHeader('Content-Encoding') && !wasChanged(response);
  response.prepared = undefined;
  // Koa keeps a status that was set by name, and takes 200 where none was.
  response.status = response.res.statusCode;
  response.remove('Content-Length');
  if (!(prepared instanceof Representation) || body === null || body === undefined) return;
  if (response.get('ETag') !== prepared.identity.etag) return;
  if (isEncoding) {
    response.encoded = prepared;
    response.set('ETag', `W/${prepared.identity.etag}`);
  } else {
    response.remove('ETag');
    response.remove('Last-Modified');
  }
};

/** Whether middleware have changed the object that they were shown. */
export const wasChanged = ({ prepared, shown }: PreparedBody): boolean => {
  if (prepared === undefined || typeof shown !== 'object' || shown === null || Buffer.isBuffer(shown)) return false;
  return JSON.stringify(shown) !== String(identityOf(prepared).payload);
};
