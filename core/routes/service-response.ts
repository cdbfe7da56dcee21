/** Computes the responses of service routes, which depend on the running service and not on a snapshot. */
import type { SharedCache } from '../contracts/cache.js';
import type { ServiceRequest, ServiceRoute, ServiceState } from '../contracts/plugin.js';
import type { Clock } from '../contracts/runtime.js';
import type { PublicUrl } from '../edge/public-url.js';
import { JSON_TYPE, jsonOf } from '../response/formats.js';
import { linesOf } from '../response/headers.js';
import { jsonRepresentation, Representation } from '../response/representation.js';
import { withTimeout } from '../util/with-timeout.js';
import { handlerTimeout, ofRoute } from './call-handler.js';

export interface ServiceDependencies {
  readonly publicUrlOf: PublicUrl;
  readonly cache: SharedCache;
  readonly clock: Clock;
  readonly state: { readonly read: () => ServiceState };
}

/** Passed to the handler if all callers share the response. */
const SHARED_REQUEST = { caller: null, account: null, headers: {} };

/** The response that is sent to all callers until the value or its age in seconds changes. */
interface SharedResponse {
  readonly value: string;
  readonly age: number;
  readonly representation: Representation;
}

/** All requests for a shared response wait for the same call of the handler, so the call must end. */
const BUILD_MS = 10_000;

const OWN_HEAD = linesOf({ 'Cache-Control': 'private, no-cache' });

export const serviceResponses = ({ publicUrlOf, cache, clock, state }: ServiceDependencies) => {
  // Maps each object that a handler has returned to its representation. Some handlers always return the same object,
  // which is then serialized only once.
  const known = new WeakMap<object, Representation>();
  const last = new WeakMap<ServiceRoute, { readonly etag: string; readonly since: Date }>();
  const lastShared = new WeakMap<ServiceRoute, SharedResponse>();

  const ownResponse = (route: ServiceRoute, input: object, request: ServiceRequest): Promise<Representation> =>
    ofRoute(route, async () => {
      const read = state.read();
      const data = (await route.handler(input as never, { state: read, ...request })) as object;
      const before = known.get(data);
      if (before) return before;
      const made = (lastModified: Date) => jsonRepresentation(data, { lastModified, head: OWN_HEAD });
      const first = made(last.get(route)?.since ?? read.startedAt);
      const { etag } = first.identity;
      const isSame = (last.get(route)?.etag ?? etag) === etag;
      const representation = isSame ? first : made(new Date(clock.now()));
      last.set(route, { etag, since: new Date(representation.lastModified) });
      known.set(data, representation);
      return representation;
    });

  /** All replicas and shared caches can use the response for `sharedSeconds`. */
  const sharedResponse = async (pattern: string, route: ServiceRoute): Promise<Representation> => {
    const { sharedSeconds = 0 } = route;
    const build = async () =>
      jsonOf(
        await route.handler({} as never, {
          state: state.read(),
          publicUrl: publicUrlOf(undefined),
          ...SHARED_REQUEST,
        }),
      );
    const { value, ageSeconds } = await cache.getOrBuild(pattern, sharedSeconds, () =>
      withTimeout(ofRoute(route, build), BUILD_MS, () => handlerTimeout(pattern, BUILD_MS)),
    );
    const age = Math.floor(ageSeconds);
    const before = lastShared.get(route);
    if (before?.value === value && before.age === age) return before.representation;
    const representation = new Representation(Buffer.from(value), JSON_TYPE, {
      lastModified: new Date(clock.now() - age * 1000),
      head: linesOf({ 'Cache-Control': `public, max-age=${Math.max(0, sharedSeconds - age)}`, Age: String(age) }),
    });
    lastShared.set(route, { value, age, representation });
    return representation;
  };

  return { ownResponse, sharedResponse };
};
