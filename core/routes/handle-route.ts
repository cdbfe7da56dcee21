/**
 * The last middleware of every route. It gets the representation of the response from a cache, or computes it from the
 * snapshot or the state of the service.
 */
import type { Readable } from 'node:stream';
import type { SharedCache } from '../contracts/cache.js';
import type { ServiceRequest, ServiceRoute, ServiceState } from '../contracts/plugin.js';
import type { Clock, Logger } from '../contracts/runtime.js';
import type { PublicUrl } from '../edge/public-url.js';
import { StorageError } from '../errors.js';
import type { ApiContext, ApiMiddleware } from '../pipeline/api-koa.js';
import { serviceRequest } from '../pipeline/identify.js';
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
export const handleRoute = (buildResponse: BuildResponse): ApiMiddleware => {
  const settle = (ctx: ApiContext, { body, snapshotVersion, isCached }: BuiltResponse): void => {
    ctx.requestState.snapshotVersion = snapshotVersion;
    ctx.requestState.cacheHit = isCached;
    ctx.body = body;
  };
  return (ctx) => {
    const built = buildResponse(ctx);
    return built instanceof Promise ? built.then((found) => settle(ctx, found)) : settle(ctx, built);
  };
};

interface ResponseDependencies {
  readonly publicUrlOf: PublicUrl;
  readonly compression: boolean;
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
export type BuildResponse = (ctx: ApiContext) => BuiltResponse | Promise<BuiltResponse>;

/** The caller id for requests made by this process. */
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
  const callerOf = (ctx: ApiContext) => ctx.requestState.caller?.id ?? LOCAL;
  const connectionOf = (ctx: ApiContext) => ctx.requestState.connection ?? ctx.req.socket;
  const encodingFor = ({ req }: ApiContext): Encoding =>
    compression ? chooseEncoding(req.headers['accept-encoding'] as string | undefined) : 'identity';
  const isReady = (representation: Representation, ctx: ApiContext) => representation.has(encodingFor(ctx));
  /** Computes and compresses a response as soon as it is the caller's turn. */
  const inTurn = async (ctx: ApiContext, find: (pauses: Pauses) => FoundResponse | Promise<FoundResponse>) => {
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
