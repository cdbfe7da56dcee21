/**
 * The last middleware of every endpoint. A mount calls its handler. A route gets its representation from a cache, or
 * computes it from the snapshot or the state of the service.
 */

import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';
import type { Readable } from 'node:stream';
import type { Context } from 'koa';
import type { Config } from '../config/schema.js';
import type { Tiers } from '../config/tiers.js';
import type { SharedCache } from '../contracts/cache.js';
import type {
  InnerResponse,
  Mount,
  MountContext,
  Route,
  ServiceRequest,
  ServiceRoute,
  ServiceState,
} from '../contracts/plugin.js';
import type { Clock, Logger } from '../contracts/runtime.js';
import type { ServiceInfo } from '../contracts/service.js';
import { publicPathOf, publicUrlOf } from '../edge/public-url.js';
import { canUpgrade, takeOver } from '../edge/upgrades.js';
import { StorageError } from '../errors.js';
import type { Caller } from '../keys/authenticator.js';
import { callerWithoutKey, serviceRequest } from '../pipeline/identify.js';
import { RequestState, type ServiceContext, type ServiceKoa, type ServiceMiddleware } from '../pipeline/service-koa.js';
import { JSON_TYPE, jsonOf } from '../response/formats.js';
import { linesOf } from '../response/headers.js';
import {
  chooseEncoding,
  type Encoding,
  jsonRepresentation,
  type Prepared,
  Representation,
} from '../response/representation.js';
import type { Pauses } from '../util/event-loop.js';
import type { ListResponse } from './list-response.js';
import { type DataRequest, dataRequest } from './response-cache.js';
import { ofRoute } from './route-response.js';
import type { RouteMatch, ServedRoute } from './route-table.js';
import { listSender } from './send-list.js';
import type { CurrentSnapshot } from './served-snapshot.js';
import type { Vintages } from './vintages.js';
import type { WorkQueues } from './work-queue.js';

/** Sets `ctx.body` to the representation of the route's response. This is the last middleware of every route. */
export const handleRoute = (buildResponse: BuildResponse): ServiceMiddleware => {
  const settle = (ctx: ServiceContext, { body, snapshotVersion, isCached }: BuiltResponse): void => {
    ctx.requestState.snapshotVersion = snapshotVersion;
    ctx.requestState.cacheHit = isCached;
    ctx.body = body;
  };
  return (ctx) => {
    const built = buildResponse(ctx);
    return built instanceof Promise ? built.then((found) => settle(ctx, found)) : settle(ctx, built);
  };
};

/** The settings for routes and mounts. */
export const settingsOf = ({ server, http }: Pick<Config, 'server' | 'http'>) => ({
  publicUrlOf: publicUrlOf(server),
  compression: http.compression,
});

type ResponseSettings = ReturnType<typeof settingsOf>;

interface MountDependencies extends ResponseSettings {
  readonly routes: readonly Route[];
  readonly mounts: readonly Mount[];
  readonly info: ServiceInfo;
  readonly basePath: string;
  readonly settings: { readonly tiers: Tiers };
  readonly state: { readonly read: () => ServiceState };
}

/**
 * Returns two middleware, between which the middleware of the mount's plugin runs. The first one prepares the response,
 * and the second one calls the handler.
 */
export const handleMount = (mount: Mount, dependencies: MountDependencies): readonly ServiceMiddleware[] => [
  (ctx, next) => {
    // Mounts may read a body. Node does not send `100 Continue` itself, because the server listens to `checkContinue`.
    if (ctx.req.headers.expect?.toLowerCase() === '100-continue') ctx.res.writeContinue();
    if (mount.contentSecurityPolicy) ctx.set('Content-Security-Policy', mount.contentSecurityPolicy);
    return next();
  },
  (ctx) =>
    mount.upgrade && canUpgrade(ctx.req)
      ? upgrade(ctx as Context, mount)
      : mount.handler(ctx as Context, mountContext(ctx.app as unknown as ServiceKoa, dependencies, ctx)),
];

const upgrade = async (ctx: Context, mount: Mount): Promise<void> => {
  const { socket, head } = takeOver(ctx.req);
  ctx.respond = false;
  try {
    await mount.upgrade!(ctx, socket, head);
  } catch (error) {
    socket.destroy();
    throw error;
  }
};

/** @param outer the request that the mount is handling; undefined if this process makes the request itself */
export const mountContext = (
  koa: ServiceKoa,
  { routes, mounts, info, basePath, publicUrlOf: urlOf, compression, settings, state }: MountDependencies,
  outer?: ServiceContext,
): MountContext => {
  const publicUrl = urlOf(outer?.req);
  const { tiers } = settings;
  // The context is also a function, so that a Koa middleware can be the handler of a mount and call the context as
  // `next`. The function does nothing, so Koa responds with 404.
  return Object.assign(async () => undefined, {
    routes,
    mounts,
    info,
    basePath,
    publicPath: publicPathOf(publicUrl),
    publicUrl,
    anonymous: tiers.anonymous,
    state: state.read(),
    compression,
    request: (target: string) => requestWithin(koa, `${basePath}${target}`, outer),
    requestWithoutKey: (target: string) =>
      requestWithin(koa, `${basePath}${target}`, undefined, callerWithoutKey(tiers)),
  });
};

interface ResponseDependencies extends ResponseSettings {
  readonly snapshots: CurrentSnapshot;
  readonly vintages: Vintages;
  readonly cache: SharedCache;
  readonly clock: Clock;
  readonly work: WorkQueues;
  readonly logger: Logger;
  readonly state: { readonly read: () => ServiceState };
}

interface BuiltResponse {
  readonly body: Representation | Prepared | Readable;
  readonly isCached: boolean;
  /** The version of the snapshot that a data route read. */
  readonly snapshotVersion?: string;
}

interface FoundResponse extends Omit<BuiltResponse, 'body'> {
  readonly representation: Representation | ListResponse;
}

/**
 * Finds or computes the representation of a route's response, compressed with an encoding that the client accepts. Only
 * a cached representation of the current snapshot is returned without a promise.
 */
export type BuildResponse = (ctx: ServiceContext) => BuiltResponse | Promise<BuiltResponse>;

/** The caller id for requests that this process makes itself. */
const LOCAL = 'local';

export const responseBuilder = (dependencies: ResponseDependencies): BuildResponse => {
  const { snapshots, vintages, work, compression, logger } = dependencies;
  const sendList = listSender(work.lists, logger);
  const askService = serviceAsker(dependencies);
  const currentSnapshot = () => {
    const served = snapshots.served;
    if (!served) throw new StorageError('unavailable', 'No snapshot has been published yet.');
    return served;
  };
  const compute = async (request: DataRequest, pauses: Pauses): Promise<FoundResponse> => {
    const served = currentSnapshot();
    const representation = await served.answer(request, pauses);
    return { representation, isCached: false, snapshotVersion: served.version };
  };
  const callerOf = (ctx: ServiceContext) => ctx.requestState.caller?.id ?? LOCAL;
  const connectionOf = (ctx: ServiceContext) => ctx.requestState.connection ?? ctx.req.socket;
  const encodingFor = ({ req }: ServiceContext): Encoding =>
    compression ? chooseEncoding(req.headers['accept-encoding'] as string | undefined) : 'identity';
  const isReady = (representation: Representation, ctx: ServiceContext) => representation.has(encodingFor(ctx));
  /** Computes and compresses a response as soon as it is the caller's turn. */
  const inTurn = async (ctx: ServiceContext, find: (pauses: Pauses) => FoundResponse | Promise<FoundResponse>) => {
    const turn = async (pauses: Pauses): Promise<FoundResponse> => {
      const found = await find(pauses);
      if (found.representation instanceof Representation) await found.representation.encoding(encodingFor(ctx));
      return found;
    };
    const { representation, ...found } = await work.responses.run(callerOf(ctx), turn, connectionOf(ctx));
    if (representation instanceof Representation) return { ...found, body: representation };
    const body = await sendList(ctx, representation, encodingFor(ctx), {
      caller: callerOf(ctx),
      connection: connectionOf(ctx),
    });
    return { ...found, body };
  };
  return (ctx) => {
    // `checkRequest` has already rejected requests that match no route.
    const { endpoint, input, cacheKey, asOf } = ctx.requestState.match as RouteMatch;
    const format = ctx.requestState.format!;
    const { route } = endpoint;
    if (route.kind === 'service') {
      const response = endpoint.shared
        ? askReplicas(dependencies, endpoint, route, input)
        : askService(route, input, serviceRequest(ctx, dependencies.publicUrlOf(ctx.req)));
      return response.then((representation) => {
        return isReady(representation, ctx)
          ? { body: representation, isCached: false }
          : inTurn(ctx, () => ({ representation, isCached: false }));
      });
    }
    const request = dataRequest(route, input, format, cacheKey);
    const served = currentSnapshot();
    if (asOf !== undefined) return inTurn(ctx, (pauses) => vintages.answer(asOf, request, pauses));
    const cached = served.responses.get(request.cacheKey);
    if (!cached) return inTurn(ctx, (pauses) => compute(request, pauses));
    const { version: snapshotVersion } = served;
    return isReady(cached, ctx)
      ? { body: cached, isCached: true, snapshotVersion }
      : inTurn(ctx, () => ({ representation: cached, isCached: true, snapshotVersion }));
  };
};

const UNSHARED = linesOf({ 'Cache-Control': 'private, no-cache' });

const serviceAsker = ({ state, clock }: ResponseDependencies) => {
  // Some handlers always return the same object, for example a document that is built only once.
  const known = new WeakMap<object, Representation>();
  /** For each route, the ETag of its last response and the time at which it last changed, for `Last-Modified`. */
  const last = new WeakMap<ServiceRoute, { readonly etag: string; readonly since: Date }>();
  const buildRepresentation = async (
    route: ServiceRoute,
    input: object,
    request: ServiceRequest,
  ): Promise<Representation> => {
    const read = state.read();
    const data = (await route.handler(input as never, { state: read, ...request })) as object;
    const before = known.get(data);
    if (before) return before;
    const made = (lastModified: Date) => jsonRepresentation(data, { lastModified, head: UNSHARED });
    const first = made(last.get(route)?.since ?? read.startedAt);
    const { etag } = first.identity;
    const isSame = (last.get(route)?.etag ?? etag) === etag;
    const representation = isSame ? first : made(new Date(clock.now()));
    last.set(route, { etag, since: new Date(representation.lastModified) });
    known.set(data, representation);
    return representation;
  };
  return (route: ServiceRoute, input: object, request: ServiceRequest): Promise<Representation> =>
    ofRoute(route, () => buildRepresentation(route, input, request));
};

/** The request that the handler receives if all callers share its response. */
const SHARED_REQUEST = { caller: null, account: null, headers: {} };

/** Returns a representation that all replicas and shared caches may use for `sharedSeconds`. */
const askReplicas = async (
  { cache, clock, state, ...dependencies }: ResponseDependencies,
  { pattern }: ServedRoute,
  route: ServiceRoute,
  input: object,
): Promise<Representation> => {
  const { sharedSeconds = 0 } = route;
  const { value, ageSeconds } = await cache.getOrBuild(`${pattern} ${JSON.stringify(input)}`, sharedSeconds, () =>
    ofRoute(route, async () =>
      jsonOf(
        await route.handler(input as never, {
          state: state.read(),
          publicUrl: dependencies.publicUrlOf(undefined),
          ...SHARED_REQUEST,
        }),
      ),
    ),
  );
  const age = Math.floor(ageSeconds);
  const left = Math.max(0, sharedSeconds - age);
  return new Representation(Buffer.from(value), JSON_TYPE, {
    lastModified: new Date(clock.now() - age * 1000),
    head: linesOf({ 'Cache-Control': `public, max-age=${left}`, Age: String(age) }),
  });
};

/** Headers that apply only to the outer request: to its body, its connection or its response format. */
const OUTER_REQUEST_HEADERS =
  /^(accept|accept-encoding|connection|content-.*|expect|if-.*|keep-alive|mcp-.*|range|te|trailer|transfer-encoding|upgrade)$/;

const passedOn = (headers: IncomingHttpHeaders): IncomingHttpHeaders =>
  Object.fromEntries(Object.entries(headers).filter(([name]) => !OUTER_REQUEST_HEADERS.test(name)));

/**
 * Runs the middleware for a request that does not come from a socket.
 * @param url the path and query
 * @param outer the request that the mount is handling; undefined if this process makes the request itself
 */
const requestWithin = async (
  koa: ServiceKoa,
  url: string,
  outer: ServiceContext | undefined,
  caller: Caller | undefined = outer?.requestState.caller,
): Promise<InnerResponse> => {
  const { inject } = await import('light-my-request');
  const answer = (request: IncomingMessage, response: ServerResponse): void => {
    // `inject` resolves dot segments, but the service must see the target exactly as it was sent.
    request.url = url;
    const ctx = koa.createContext(request, response);
    ctx.requestState = new RequestState(outer?.requestState.id ?? ctx.requestState.id, true);
    ctx.requestState.caller = caller;
    ctx.requestState.connection = outer?.requestState.connection ?? outer?.req.socket;
    void koa.handle(ctx);
  };
  const { statusCode, headers, payload } = await inject(answer as Parameters<typeof inject>[0], {
    method: 'GET',
    url,
    headers: outer ? passedOn(outer.req.headers) : {},
    ...(outer?.req.socket.remoteAddress && { remoteAddress: outer.req.socket.remoteAddress }),
  });
  return { status: statusCode, headers, body: payload };
};
