/** Answers: runs the plugin's own middleware, and within them the route's representation or the mount's handler. */
import type { Context } from 'koa';
import type { Mount, MountContext, Route } from '../contracts/plugin.js';
import type { ServiceInfo } from '../contracts/service.js';
import { requestWithin } from '../http/inner-request.js';
import type { Represent, Represented } from '../http/represent.js';
import type { ServiceContext, ServiceMiddleware } from '../http/request-state.js';
import type { ServiceKoa } from '../http/service-koa.js';

/** The matched endpoint knows its middleware. */
export const answer = (): ServiceMiddleware => (ctx, next) => ctx.state.match!.address!.handle(ctx, next);

/** The last middleware of every route. */
export const answerRoute = (represent: Represent): ServiceMiddleware => {
  const settle = (ctx: ServiceContext, { representation, snapshotVersion }: Represented): Promise<void> | undefined => {
    ctx.state.snapshotVersion = snapshotVersion;
    if (representation instanceof Promise) {
      return representation.then((made) => {
        ctx.body = made;
      });
    }
    ctx.state.cacheHit = true;
    ctx.body = representation;
    return undefined;
  };
  return (ctx) => {
    const { match, form } = ctx.state;
    // `checkRequest` has refused what no route can answer.
    const represented = represent(match as Parameters<Represent>[0], form!);
    return represented instanceof Promise ? represented.then((found) => settle(ctx, found)) : settle(ctx, represented);
  };
};

export interface MountDependencies {
  readonly routes: readonly Route[];
  readonly mounts: readonly Mount[];
  readonly service: ServiceInfo;
  readonly basePath: string;
  readonly compression: boolean;
}

/** The first middleware of every mount, and the last one. */
export const answerMount = (mount: Mount, dependencies: MountDependencies): readonly ServiceMiddleware[] => [
  (ctx, next) => {
    // The server leaves it to whatever reads the body.
    if (ctx.req.headers.expect?.toLowerCase() === '100-continue') ctx.res.writeContinue();
    if (mount.contentSecurityPolicy) ctx.set('Content-Security-Policy', mount.contentSecurityPolicy);
    return next();
  },
  (ctx) => mount.handler(ctx as Context, mountContext(ctx.app as ServiceKoa, dependencies, ctx)),
];

/** @param outer the request that inner ones are asked within; undefined where this process asks by itself */
export const mountContext = (
  koa: ServiceKoa,
  { routes, mounts, service, basePath, compression }: MountDependencies,
  outer?: ServiceContext,
): MountContext =>
  // As `next` of a Koa middleware, it leaves the request unanswered.
  Object.assign(async () => undefined, {
    routes,
    mounts,
    service,
    basePath,
    compression,
    request: (target: string) => requestWithin(koa, `${basePath}${target}`, outer),
  });
