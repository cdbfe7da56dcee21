import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';
import type { Context } from 'koa';
import type { Tiers } from '../config/tiers.js';
import type { IdentifiedCaller, InnerResponse, Mount, MountContext, Route, ServiceState } from '../contracts/plugin.js';
import type { ServiceInfo } from '../contracts/service.js';
import { type PublicUrl, publicPathOf } from '../edge/public-url.js';
import { canUpgrade, takeOver } from '../edge/upgrades.js';
import type { Caller } from '../keys/authenticator.js';
import { type ApiContext, type ApiKoa, type ApiMiddleware, RequestState } from '../pipeline/api-koa.js';
import { callerWithoutKey, localCaller } from '../pipeline/caller.js';
import type { WorkQueues } from './work-queue.js';

interface MountDependencies {
  readonly publicUrlOf: PublicUrl;
  readonly compression: boolean;
  readonly routes: readonly Route[];
  readonly mounts: readonly Mount[];
  readonly info: ServiceInfo;
  readonly basePath: string;
  readonly settings: { readonly tiers: Tiers };
  readonly state: { readonly read: () => ServiceState };
}

/** The middleware of a plugin runs between the two handlers of its mount. */
export const handleMount = (
  mount: Mount,
  dependencies: MountDependencies,
  work: WorkQueues,
): readonly ApiMiddleware[] => [
  (ctx, next) => {
    // Node does not send `100 Continue`, because the server listens for `checkContinue`.
    if (ctx.req.headers.expect?.toLowerCase() === '100-continue') ctx.res.writeContinue();
    if (mount.contentSecurityPolicy) ctx.set('Content-Security-Policy', mount.contentSecurityPolicy);
    return next();
  },
  (ctx) => {
    if (mount.upgrade && canUpgrade(ctx.req)) return upgrade(ctx as Context, mount);
    return work.handle(ctx, () =>
      mount.handler(ctx as Context, mountContext(ctx.app as unknown as ApiKoa, dependencies, ctx)),
    );
  },
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

const mountContext = (
  koa: ApiKoa,
  { routes, mounts, info, basePath, publicUrlOf: urlOf, compression, settings, state }: MountDependencies,
  outer?: ApiContext,
): MountContext => {
  const publicUrl = urlOf(outer?.req);
  const { tiers } = settings;
  // The mount context is a function, so that Koa middleware can be used as a handler and receive the context as `next`.
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
    request: (target: string) => requestWithin(koa, `${basePath}${target}`, { outer }),
    requestWithoutKey: (target: string) =>
      requestWithin(koa, `${basePath}${target}`, { caller: callerWithoutKey(tiers) }),
  });
};

interface LocalRequest {
  readonly headers?: Readonly<Record<string, string>>;
  /** The caller that handlers see. The tier of the caller must include the endpoint. Default: none */
  readonly caller?: Pick<IdentifiedCaller, 'id' | 'tier' | 'limit'>;
}

export interface LocalContext extends MountContext {
  /** Sends a GET request without a key. The request does not count against any limit. */
  request(target: string, options?: LocalRequest): Promise<InnerResponse>;
}

export const localContext = (koa: ApiKoa, dependencies: MountDependencies): LocalContext =>
  Object.assign(mountContext(koa, dependencies), {
    request: async (target: string, { caller, headers }: LocalRequest = {}) =>
      requestWithin(koa, `${dependencies.basePath}${target}`, {
        caller: caller && localCaller(dependencies.settings.tiers, caller),
        headers,
      }),
  });

/**
 * Headers of the outer request that concern its body, connection or response format. Inner requests do not get them.
 */
const OUTER_REQUEST_HEADERS =
  /^(accept|accept-encoding|connection|content-.*|expect|if-.*|keep-alive|mcp-.*|range|te|trailer|transfer-encoding|upgrade)$/;

const passedOn = (headers: IncomingHttpHeaders): IncomingHttpHeaders =>
  Object.fromEntries(Object.entries(headers).filter(([name]) => !OUTER_REQUEST_HEADERS.test(name)));

interface InnerRequest {
  readonly outer?: ApiContext | undefined;
  readonly caller?: Caller | undefined;
  readonly headers?: IncomingHttpHeaders | undefined;
}

const requestWithin = async (
  koa: ApiKoa,
  url: string,
  {
    outer,
    caller = outer?.requestState.caller,
    headers: given = outer ? passedOn(outer.req.headers) : {},
  }: InnerRequest,
): Promise<InnerResponse> => {
  const { inject } = await import('light-my-request');
  const respond = (request: IncomingMessage, response: ServerResponse): void => {
    // `inject` resolves dot segments, but the service must see the target exactly as it was sent.
    request.url = url;
    const ctx = koa.createContext(request, response);
    ctx.requestState = new RequestState(outer?.requestState.id ?? ctx.requestState.id, true);
    ctx.requestState.caller = caller;
    ctx.requestState.connection = outer?.requestState.connection ?? outer?.req.socket;
    void koa.handle(ctx);
  };
  const { statusCode, headers, payload } = await inject(respond as Parameters<typeof inject>[0], {
    method: 'GET',
    url,
    headers: given,
    ...(outer?.req.socket.remoteAddress && { remoteAddress: outer.req.socket.remoteAddress }),
  });
  return { status: statusCode, headers, body: payload };
};
