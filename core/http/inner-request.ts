/**
 * A request that a mount or this process asks of its own service. It passes all middleware with the headers and the
 * caller of the outer request; it is neither counted nor observed.
 */
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';
import { RequestState, type ServiceContext } from './request-state.js';
import type { ServiceKoa } from './service-koa.js';

interface InnerResponse {
  readonly status: number;
  readonly body: string;
}

/** Headers about the outer request's body, connection, and the response that it wants. */
const OF_THE_OUTER_ONE =
  /^(accept|accept-encoding|connection|content-.*|expect|if-.*|keep-alive|mcp-.*|range|te|trailer|transfer-encoding|upgrade)$/;

const passedOn = (headers: IncomingHttpHeaders): IncomingHttpHeaders =>
  Object.fromEntries(Object.entries(headers).filter(([name]) => !OF_THE_OUTER_ONE.test(name)));

/**
 * @param url from the origin, with its query
 * @param outer the request during which it is made; undefined for a request of this process itself
 */
export const requestWithin = async (
  koa: ServiceKoa,
  url: string,
  outer: ServiceContext | undefined,
): Promise<InnerResponse> => {
  const { inject } = await import('light-my-request');
  const answer = (request: IncomingMessage, response: ServerResponse): void => {
    const ctx = koa.createContext<RequestState>(request, response);
    ctx.state = new RequestState(outer?.state.id ?? ctx.state.id, true);
    ctx.state.caller = outer?.state.caller;
    void koa.handle(ctx);
  };
  const { statusCode, payload } = await inject(answer as Parameters<typeof inject>[0], {
    method: 'GET',
    url,
    headers: outer ? passedOn(outer.req.headers) : {},
    ...(outer?.req.socket.remoteAddress && { remoteAddress: outer.req.socket.remoteAddress }),
  });
  return { status: statusCode, body: payload };
};
