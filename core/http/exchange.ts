/** What the pipeline knows of one request, and the reply that it settles on. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { KeyRecord } from '../contracts/keys.js';
import type { Decision } from '../contracts/limiter.js';
import type { Form } from './form.js';
import type { Payload } from './representation.js';
import type { Match } from './route-table.js';

/** A status, the lines of a head and a body: all that a response consists of beside what every response carries. */
export interface Reply {
  readonly status: number;
  /** See `head.ts`. */
  readonly head: string;
  readonly body?: Payload | undefined;
}

/** Who a request counts against. */
export interface Caller {
  /** `key:<id>` or `ip:<address or /64 prefix>`. */
  readonly subject: string;
  readonly limit: number;
  /** The key's record, where a valid one was sent. */
  readonly key: KeyRecord | undefined;
}

export class Exchange {
  readonly startedAt = performance.now();
  caller: Caller | undefined;
  /** Credentials were sent and are not valid. */
  invalidKey = false;
  decision: Decision | undefined;
  /** What the answer is written in, where a route answers. */
  form: Form | undefined;
  reply: Reply | undefined;
  /** For the log: whether the answer was there already. */
  cacheHit = false;
  snapshotVersion: string | undefined;

  constructor(
    readonly id: string,
    readonly request: IncomingMessage,
    readonly response: ServerResponse,
    readonly match: Match,
  ) {}
}

/** Settles on a reply, passes on by leaving it open, or throws. */
export type Step = (exchange: Exchange) => void | Promise<void>;

declare module 'koa' {
  interface ExtendableContext {
    exchange: Exchange;
  }
}
