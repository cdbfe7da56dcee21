/** What the middleware know about one request: `ctx.state`. */
import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import type { Middleware, ParameterizedContext } from 'koa';
import type { Decision } from '../contracts/limiter.js';
import type { Mount } from '../contracts/plugin.js';
import type { ApiError } from '../errors.js';
import type { Caller } from '../keys/authenticator.js';
import { holdsKey } from '../keys/key.js';
import type { Format } from '../response/formats.js';
import { newRequestId } from '../response/headers.js';

export class RequestState {
  /** Milliseconds since the process started. */
  readonly startedAt = performance.now();
  /** From `startedAt` to the response being written, for observers. */
  durationMs = 0;
  /** Undefined where middleware around the service respond before `findEndpoint`. */
  match: Match | undefined;
  caller: Caller | undefined;
  /** Whether credentials were sent that are not valid. */
  invalidKey = false;
  decision: Decision | undefined;
  /** The format of the representation. Undefined for a mount, and where the client accepts none. */
  format: Format | undefined;
  /** The error of the request, regardless of its caller. `checkRequest` throws it. */
  error: ApiError | undefined;
  /** Whether the representation was cached. */
  cacheHit = false;
  snapshotVersion: string | undefined;
  /** For an inner request: the connection of the request whose mount made it. */
  connection: Socket | undefined;

  /**
   * @param id as in `X-Request-Id`
   * @param isInner whether a mount or this process made the request, which is then neither counted nor observed
   */
  constructor(
    readonly id: string,
    readonly isInner: boolean,
  ) {}
}

export type ServiceContext = ParameterizedContext<RequestState>;

/** Koa middleware whose `ctx.state` is a `RequestState`. */
export type ServiceMiddleware = Middleware<RequestState>;

/** What middleware know about a route or a mount. */
export interface Endpoint {
  /** The full path template, for logs and metrics. */
  readonly pattern: string;
  /** The names that tiers use: its plugin, and its path as declared. */
  readonly names: readonly string[];
  /** Without OPTIONS, which every endpoint has. */
  readonly methods: readonly string[];
  readonly needsKey: boolean;
  readonly limited: boolean;
  /** Shared caches may store the response, so it carries nothing about the caller. */
  readonly shared: boolean;
  /** Undefined for a route. */
  readonly mount?: Mount | undefined;
  /** The format for an `Accept` header, the first one without preference. Undefined for a mount. */
  readonly chooseFormat?: ((accept: string | undefined) => Format | undefined) | undefined;
  /** The plugin's middleware around the route's or mount's handler. */
  readonly handle: ServiceMiddleware;
}

/** The endpoint of a URL, or the error that makes the URL invalid. */
export interface Match {
  readonly endpoint: Endpoint | undefined;
  /** The format that the query names. */
  readonly format?: Format | undefined;
  readonly error?: ApiError | undefined;
}

const HARMLESS = /^[A-Za-z0-9._-]{1,64}$/;

/** The `X-Request-Id` of the request if it is harmless, otherwise a new one. */
export const requestId = ({ headers }: IncomingMessage): string => {
  const sent = headers['x-request-id'];
  // A client may send a key in this header by mistake, and the log must not contain it.
  const harmless = typeof sent === 'string' && HARMLESS.test(sent) && !holdsKey(sent);
  return harmless ? sent : newRequestId();
};
