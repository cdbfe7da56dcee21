/**
 * Runs the plugin's middleware around the route or mount: a route sets its representation, a mount calls its handler.
 */
import type { Context } from 'koa';
import type { Mount, MountContext, Route } from '../contracts/plugin.js';
import type { ServiceInfo } from '../contracts/service.js';
import { requestWithin } from '../http/inner-request.js';
import type { Represent, Represented } from '../http/represent.js';
import { type ServiceContext, type ServiceMiddleware, serviceRequest } from '../http/request-state.js';
import type { ServiceKoa } from '../http/service-koa.js';

/** Runs the middleware of the matched endpoint. */
export const handle = (): ServiceMiddleware => (ctx, next) => ctx.state.match!.endpoint!.handle(ctx, next);

/** The last middleware of every route. */
export const handleRoute = (represent: Represent): ServiceMiddleware => {
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
    const { match, format } = ctx.state;
    // `checkRequest` has refused requests that match no route.
    const represented = represent(match as Parameters<Represent>[0], format!, () => serviceRequest(ctx));
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
export const handleMount = (mount: Mount, dependencies: MountDependencies): readonly ServiceMiddleware[] => [
  (ctx, next) => {
    // The server leaves `100 Continue` to the handler that reads the body.
    if (ctx.req.headers.expect?.toLowerCase() === '100-continue') ctx.res.writeContinue();
    if (mount.contentSecurityPolicy) ctx.set('Content-Security-Policy', mount.contentSecurityPolicy);
    return next();
  },
  (ctx) => mount.handler(ctx as Context, mountContext(ctx.app as ServiceKoa, dependencies, ctx)),
];

/** @param outer the request during which inner ones are made; undefined for requests of this process itself */
export const mountContext = (
  koa: ServiceKoa,
  { routes, mounts, service, basePath, compression }: MountDependencies,
  outer?: ServiceContext,
): MountContext =>
  // Called as `next` of a Koa middleware, it does nothing, which leaves the request to Koa's 404.
  Object.assign(async () => undefined, {
    routes,
    mounts,
    service,
    basePath,
    compression,
    request: (target: string) => requestWithin(koa, `${basePath}${target}`, outer),
  });
