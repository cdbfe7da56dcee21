/** The last step of the pipeline: a route's answer in the right encoding, or whatever a mount makes of the request. */
import Koa, { type Middleware } from 'koa';
import compose from 'koa-compose';
import type { MountContext } from '../contracts/plugin.js';
import type { Logger } from '../contracts/runtime.js';
import { type Answer, type AnswerParts, answerer } from './answers.js';
import type { Exchange, Reply, Step } from './exchange.js';
import { linesOf, pairsOf } from './head.js';
import type { CommonHeaders } from './headers.js';
import { negotiatedReply } from './negotiated-reply.js';
import type { Representation } from './representation.js';
import type { RouteTable, ServedMount } from './route-table.js';
import { commonHead } from './write-reply.js';

export interface AnswerStepParts extends AnswerParts {
  readonly routes: RouteTable;
  readonly headers: CommonHeaders;
  /** For mounts: see `MountContext`. */
  readonly mountContext: MountContext;
  readonly compression: boolean;
  readonly logger: Logger;
}

/** Runs the group's own middleware, if it has any, around the route's answer; or the mount's handler. */
export const answerStep = (parts: AnswerStepParts): Step => {
  const answerRoute = routeAnswerer(parts);
  const answerMount = mountAnswerer(parts);
  const groups = new Map<unknown, Middleware>(
    parts.routes.routes
      .filter(({ middleware }) => middleware.length > 0)
      .map((route) => [route, compose([...route.middleware, ({ exchange }) => answerRoute(exchange)])]),
  );
  return (exchange) => {
    const { address } = exchange.match;
    if (address?.mount) return answerMount(exchange, address);
    const group = groups.get(address);
    return group ? answerByKoa(exchange, group) : answerRoute(exchange);
  };
};

const koa = new Koa();

const contextOf = (exchange: Exchange) => {
  const context = koa.createContext(exchange.request, exchange.response);
  context.exchange = exchange;
  return context;
};

/** A middleware may let the route answer, or answer by itself. */
const answerByKoa = async (exchange: Exchange, group: Middleware): Promise<void> => {
  const context = contextOf(exchange);
  await group(context, async () => undefined);
  exchange.reply ??= koaReply(context.status, context.body);
};

const mountAnswerer =
  ({ headers, mountContext }: AnswerStepParts) =>
  async (exchange: Exchange, { mount }: ServedMount): Promise<void> => {
    const context = contextOf(exchange);
    context.status = 404;
    // Its handler may write by itself: what every response carries has to be there before.
    const head = pairsOf(commonHead(exchange, headers));
    for (let i = 0; i < head.length; i += 2) context.append(head[i]!, head[i + 1]!);
    if (mount.contentSecurityPolicy) context.set('Content-Security-Policy', mount.contentSecurityPolicy);
    // The server leaves it to whoever takes the body.
    if (exchange.request.headers.expect?.toLowerCase() === '100-continue') exchange.response.writeContinue();
    await mount.handler(context, mountContext);
    exchange.reply = koaReply(context.status, context.body);
  };

/** What a mount, or a plugin's own middleware that answered instead of the route, left in Koa's context. */
const koaReply = (status: number, body: unknown): Reply => {
  // RFC 9110 8.6: no length where there can be no content.
  if (status === 204 || status === 304) return { status, head: '' };
  const bytes = bytesOf(body);
  return { status, head: linesOf({ 'Content-Length': String(bytes.length) }), body: bytes };
};

const bytesOf = (body: unknown): Buffer => {
  if (body === undefined || body === null) return Buffer.alloc(0);
  if (Buffer.isBuffer(body)) return body;
  return Buffer.from(typeof body === 'string' ? body : JSON.stringify(body));
};

const routeAnswerer = (parts: AnswerStepParts): Step => {
  const { compression } = parts;
  const answer = answerer(parts);
  const negotiate = (exchange: Exchange, representation: Representation): void | Promise<void> => {
    const reply = negotiatedReply(representation, exchange.request.headers, compression);
    if (reply instanceof Promise) {
      return reply.then((settled) => {
        exchange.reply = settled;
      });
    }
    exchange.reply = reply;
    return undefined;
  };
  const settle = (exchange: Exchange, { representation, snapshotVersion }: Answer): void | Promise<void> => {
    exchange.snapshotVersion = snapshotVersion;
    if (representation instanceof Promise) return representation.then((computed) => negotiate(exchange, computed));
    exchange.cacheHit = true;
    return negotiate(exchange, representation);
  };
  return (exchange) => {
    const { match, form } = exchange;
    // `checkRequest` has refused what no route can answer.
    if (match.input === undefined || !form) return undefined;
    const answered = answer(match, form);
    return answered instanceof Promise ? answered.then((found) => settle(exchange, found)) : settle(exchange, answered);
  };
};
