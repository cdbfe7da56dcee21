/**
 * Finds or makes the representation for a request: from the snapshot, the service's state, or the replicas' shared
 * cache.
 */
import type { SharedCache } from '../contracts/cache.js';
import type { ServiceRequest, ServiceRoute, ServiceState } from '../contracts/plugin.js';
import type { Clock } from '../contracts/runtime.js';
import { StorageError } from '../errors.js';
import { type Format, jsonFormat } from './formats.js';
import { linesOf } from './headers.js';
import { JSON_TYPE, jsonOf, jsonRepresentation, Representation } from './representation.js';
import { ofRoute } from './route-response.js';
import type { RouteMatch, ServedRoute } from './route-table.js';
import type { CurrentSnapshot } from './served-snapshot.js';
import type { Vintages } from './vintages.js';

interface RepresentDependencies {
  readonly snapshots: CurrentSnapshot;
  readonly vintages: Vintages;
  readonly cache: SharedCache;
  readonly clock: Clock;
  readonly state: { readonly read: () => ServiceState };
}

export interface Represented {
  /** A promise unless it is cached. */
  readonly representation: Representation | Promise<Representation>;
  /** The version of the snapshot that a data route has read. */
  readonly snapshotVersion?: string;
}

/** @param ask who asks, and with what; not for responses that callers share */
export type Represent = (
  match: RouteMatch,
  format: Format,
  ask: () => ServiceRequest,
) => Represented | Promise<Represented>;

/** Not a promise where the representation is cached: the hot path waits for nothing. */
export const representer = (dependencies: RepresentDependencies): Represent => {
  const { snapshots, vintages } = dependencies;
  const askService = serviceAsker(dependencies);
  return ({ endpoint, input, cacheKey, asOf }, format, ask) => {
    const { route } = endpoint;
    if (route.kind === 'service') {
      const shared = endpoint.shared;
      return {
        representation: shared ? askReplicas(dependencies, endpoint, route, input) : askService(route, input, ask()),
      };
    }
    const served = snapshots.get();
    if (!served) throw new StorageError('unavailable', 'No snapshot has been published yet');
    const request = { cacheKey: format === jsonFormat ? cacheKey : `${format.name} ${cacheKey}`, route, input, format };
    if (asOf !== undefined) return vintages.answer(asOf, request);
    return { representation: served.answer(request), snapshotVersion: served.version };
  };
};

const UNSHARED = linesOf({ 'Cache-Control': 'private, no-cache' });

const serviceAsker = ({ state, clock }: RepresentDependencies) => {
  // Some handlers return the same object each time, such as a document that is built once.
  const known = new WeakMap<object, Representation>();
  /** What a route answered last, and since when. */
  const last = new WeakMap<ServiceRoute, { readonly etag: string; readonly since: Date }>();
  const represent = async (route: ServiceRoute, input: object, request: ServiceRequest): Promise<Representation> => {
    const service = state.read();
    const data = (await route.handler(input as never, { service, ...request })) as object;
    const before = known.get(data);
    if (before) return before;
    const made = (lastModified: Date) => jsonRepresentation(data, { lastModified, head: UNSHARED });
    const first = made(last.get(route)?.since ?? service.startedAt);
    const { etag } = first.identity;
    const isSame = (last.get(route)?.etag ?? etag) === etag;
    const representation = isSame ? first : made(new Date(clock.now()));
    last.set(route, { etag, since: new Date(representation.lastModified) });
    known.set(data, representation);
    return representation;
  };
  return (route: ServiceRoute, input: object, request: ServiceRequest): Promise<Representation> =>
    ofRoute(route, () => represent(route, input, request));
};

/** Who asks for a response that all callers share. */
const NOBODY: ServiceRequest = { caller: null, account: null, headers: {} };

/** One representation for all replicas and for shared caches, for as long as the route says. */
const askReplicas = async (
  { cache, clock, state }: RepresentDependencies,
  { pattern }: ServedRoute,
  route: ServiceRoute,
  input: object,
): Promise<Representation> => {
  const { sharedSeconds = 0 } = route;
  const { value, ageSeconds } = await cache.getOrBuild(`${pattern} ${JSON.stringify(input)}`, sharedSeconds, () =>
    ofRoute(route, async () => jsonOf(await route.handler(input as never, { service: state.read(), ...NOBODY }))),
  );
  const age = Math.floor(ageSeconds);
  const left = Math.max(0, sharedSeconds - age);
  return new Representation(Buffer.from(value), JSON_TYPE, {
    lastModified: new Date(clock.now() - age * 1000),
    head: linesOf({ 'Cache-Control': `public, max-age=${left}`, Age: String(age) }),
  });
};
