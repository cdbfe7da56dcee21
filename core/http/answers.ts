/** How each kind of route is answered: from the snapshot, from the service, or from what all replicas share. */
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

export interface AnswerParts {
  readonly snapshots: CurrentSnapshot;
  readonly vintages: Vintages;
  readonly cache: SharedCache;
  readonly clock: Clock;
  readonly serviceState: () => ServiceState;
}

export interface Answer {
  readonly representation: Representation | Promise<Representation>;
  /** Of the snapshot that a data route was answered from. */
  readonly snapshotVersion?: string;
}

/** Not a promise where the answer is at hand: the hot path waits for nothing. */
export const answerer = (parts: AnswerParts): ((match: RouteMatch, form: Form) => Answer | Promise<Answer>) => {
  const askService = serviceAsker(parts);
  return ({ address, input, shape, asOf }, form) => {
    const { route } = address;
    if (route.kind === 'service') {
      return { representation: address.shared ? askReplicas(parts, address, route, input) : askService(route, input) };
    }
    const served = parts.snapshots.get();
    if (!served) throw new StorageError('unavailable', 'No snapshot has been published yet');
    const request = { shape: form === jsonForm ? shape : `${form.name} ${shape}`, route, input, form };
    if (asOf !== undefined) return parts.vintages.answer(asOf, request);
    return { representation: served.answer(request), snapshotVersion: served.version };
  };
};

const UNSHARED = linesOf({ 'Cache-Control': 'private, no-cache' });

const serviceAsker = ({ serviceState }: AnswerParts) => {
  // Some handlers answer with one and the same object again and again, such as a document built once.
  const known = new WeakMap<object, Representation>();
  return async (route: ServiceRoute, input: object): Promise<Representation> => {
    const service = serviceState();
    const data = (await route.handler(input as never, { service })) as object;
    let representation = known.get(data);
    if (!representation) {
      representation = jsonRepresentation(data, {
        lastModified: service.startedAt,
        head: UNSHARED,
      });
      known.set(data, representation);
    }
    return representation;
  };
};

/** One answer for all replicas and for shared caches, for as long as the route says. */
const askReplicas = async (
  { cache, clock, serviceState }: AnswerParts,
  { pattern }: ServedRoute,
  { sharedSeconds = 0, handler }: ServiceRoute,
  input: object,
): Promise<Representation> => {
  const { value, ageSeconds } = await cache.getOrBuild(`${pattern} ${JSON.stringify(input)}`, sharedSeconds, async () =>
    JSON.stringify(await handler(input as never, { service: serviceState() })),
  );
  const age = Math.floor(ageSeconds);
  const left = Math.max(0, sharedSeconds - age);
  return new Representation(Buffer.from(value), JSON_TYPE, {
    lastModified: new Date(clock.now() - age * 1000),
    head: linesOf({ 'Cache-Control': `public, max-age=${left}`, Age: String(age) }),
  });
};
