/** The representation that a route answers with: of the snapshot, of the service's state, or of what all replicas share. */
import type { SharedCache } from '../contracts/cache.js';
import type { ServiceRoute, ServiceState } from '../contracts/plugin.js';
import type { Clock } from '../contracts/runtime.js';
import { StorageError } from '../errors.js';
import { type Form, jsonForm } from './form.js';
import { linesOf } from './head.js';
import { JSON_TYPE, jsonRepresentation, Representation } from './representation.js';
import type { RouteMatch, ServedRoute } from './route-table.js';
import type { CurrentSnapshot } from './served-snapshot.js';
import type { Vintages } from './vintages.js';

export interface RepresentDependencies {
  readonly snapshots: CurrentSnapshot;
  readonly vintages: Vintages;
  readonly cache: SharedCache;
  readonly clock: Clock;
  readonly state: { readonly read: () => ServiceState };
}

export interface Represented {
  /** A promise where it is not cached. */
  readonly representation: Representation | Promise<Representation>;
  /** Of the snapshot that a data route was answered from. */
  readonly snapshotVersion?: string;
}

export type Represent = (match: RouteMatch, form: Form) => Represented | Promise<Represented>;

/** Not a promise where the representation is cached: the hot path waits for nothing. */
export const representer = (dependencies: RepresentDependencies): Represent => {
  const { snapshots, vintages } = dependencies;
  const askService = serviceAsker(dependencies);
  return ({ address, input, shape, asOf }, form) => {
    const { route } = address;
    if (route.kind === 'service') {
      const shared = address.shared;
      return { representation: shared ? askReplicas(dependencies, address, route, input) : askService(route, input) };
    }
    const served = snapshots.get();
    if (!served) throw new StorageError('unavailable', 'No snapshot has been published yet');
    const request = { shape: form === jsonForm ? shape : `${form.name} ${shape}`, route, input, form };
    if (asOf !== undefined) return vintages.answer(asOf, request);
    return { representation: served.answer(request), snapshotVersion: served.version };
  };
};

const UNSHARED = linesOf({ 'Cache-Control': 'private, no-cache' });

const serviceAsker = ({ state }: RepresentDependencies) => {
  // Some handlers answer with one and the same object again and again, such as a document built once.
  const known = new WeakMap<object, Representation>();
  return async (route: ServiceRoute, input: object): Promise<Representation> => {
    const service = state.read();
    const data = (await route.handler(input as never, { service })) as object;
    let representation = known.get(data);
    if (!representation) {
      representation = jsonRepresentation(data, { lastModified: service.startedAt, head: UNSHARED });
      known.set(data, representation);
    }
    return representation;
  };
};

/** One representation for all replicas and for shared caches, for as long as the route says. */
const askReplicas = async (
  { cache, clock, state }: RepresentDependencies,
  { pattern }: ServedRoute,
  { sharedSeconds = 0, handler }: ServiceRoute,
  input: object,
): Promise<Representation> => {
  const { value, ageSeconds } = await cache.getOrBuild(`${pattern} ${JSON.stringify(input)}`, sharedSeconds, async () =>
    JSON.stringify(await handler(input as never, { service: state.read() })),
  );
  const age = Math.floor(ageSeconds);
  const left = Math.max(0, sharedSeconds - age);
  return new Representation(Buffer.from(value), JSON_TYPE, {
    lastModified: new Date(clock.now() - age * 1000),
    head: linesOf({ 'Cache-Control': `public, max-age=${left}`, Age: String(age) }),
  });
};
