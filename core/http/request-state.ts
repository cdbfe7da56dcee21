/** What the service's middleware pass on to each other about one request, as `ctx.state`. */
import type { Middleware, ParameterizedContext } from 'koa';
import type { KeyRecord } from '../contracts/keys.js';
import type { Decision } from '../contracts/limiter.js';
import type { Form } from './form.js';
import type { Match } from './route-table.js';

/** Who a request counts against. */
export interface Caller {
  /** `key:<id>` or `ip:<address or /64 prefix>`. */
  readonly subject: string;
  readonly limit: number;
  /** The key's record, where a valid one was sent. */
  readonly key: KeyRecord | undefined;
}

export class RequestState {
  /** Milliseconds since the process began. */
  readonly startedAt = performance.now();
  /** From `startedAt` to the response being written, for observers. */
  durationMs = 0;
  /** What the URL stands for; undefined where middleware around the service have answered. */
  match: Match | undefined;
  caller: Caller | undefined;
  /** Credentials were sent and are not valid. */
  invalidKey = false;
  decision: Decision | undefined;
  /** The format that a route answers in. */
  form: Form | undefined;
  /** Whether the representation was cached. */
  cacheHit = false;
  snapshotVersion: string | undefined;

  /**
   * @param id as in `X-Request-Id`
   * @param isInner whether it is asked within another request, or by this process: it is not counted, nor observed
   */
  constructor(
    readonly id: string,
    readonly isInner: boolean,
  ) {}
}

export type ServiceContext = ParameterizedContext<RequestState>;

/** Koa's, with the service's own state. */
export type ServiceMiddleware = Middleware<RequestState>;
