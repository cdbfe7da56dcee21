/**
 * What happens to every request, in order; read from top to bottom.
 *
 * Each step passes on, settles on a reply, or throws an `ApiError`; it is waited for only where it has to wait. Nothing
 * is written before all of it is, so that an error keeps the headers that the earlier steps have earned it. A request
 * whose answer is kept goes through the same steps as any other: its URL has been resolved and its input checked before
 * (`route-table.ts`), its key hashed before (`key-ring.ts`), its body serialised and compressed before
 * (`served-snapshot.ts`, `representation.ts`), so that what is left are look-ups, one decision of the limiter, and
 * the writing of bytes (`write-reply.ts`, `direct-response.ts`). A Koa context is made for those alone who use it: mounts,
 * and plugins' own middleware (`answer-step.ts`).
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { KeyRecord } from '../contracts/keys.js';
import type { Decision, Limiter } from '../contracts/limiter.js';
import { ApiError, errors } from '../errors.js';
import type { KeyRing } from '../keys/key-ring.js';
import { type AnswerStepParts, answerStep } from './answer-step.js';
import type { CallerAddress } from './caller-address.js';
import { errorReply } from './error-reply.js';
import { type Caller, Exchange, type Reply, type Step } from './exchange.js';
import { allowOf } from './headers.js';
import { requestId } from './request-id.js';
import { writeReply } from './write-reply.js';

export interface PipelineParts extends AnswerStepParts {
  readonly keys: KeyRing;
  readonly limiter: Limiter;
  readonly addressOf: CallerAddress;
  /** Told of every finished exchange, for log and metrics. */
  readonly observe: (exchange: Exchange, status: number) => void;
  readonly requestsPerMinute: number;
  readonly realm: string;
}

/** Answers a request; the promise, where there is one, never rejects. */
export type Handle = (request: IncomingMessage, response: ServerResponse) => void | Promise<void>;

export const pipeline = (parts: PipelineParts): Handle => {
  const { routes, headers, logger, observe } = parts;
  const steps = [identify(parts), limit(parts), authorize(parts), checkRequest(parts), answerStep(parts)];

  const deliver = (exchange: Exchange, reply: Reply): void => {
    try {
      writeReply(exchange, reply, headers);
      observe(exchange, reply.status);
    } catch (error) {
      logger.error({ err: error, requestId: exchange.id }, 'a response could not be written');
      exchange.response.destroy();
    }
  };
  const fail = (exchange: Exchange, error: unknown): void => deliver(exchange, errorReply(error, logger, exchange.id));

  return (request, response) => {
    const exchange = new Exchange(requestId(request), request, response, routes.resolve(request.url ?? '/'));
    try {
      const walking = walk(steps, exchange);
      if (walking) {
        return walking.then(
          () => deliver(exchange, exchange.reply!),
          (error: unknown) => fail(exchange, error),
        );
      }
    } catch (error) {
      return fail(exchange, error);
    }
    return deliver(exchange, exchange.reply!);
  };
};

/** Takes the steps in turn, until one settles on a reply. The last one always does. */
const walk = (steps: readonly Step[], exchange: Exchange, from = 0): void | Promise<void> => {
  for (let i = from; i < steps.length && !exchange.reply; i++) {
    const waiting = steps[i]!(exchange);
    if (waiting) return waiting.then(() => walk(steps, exchange, i + 1));
  }
};

/** Whose request it is: its key's where a valid one was sent, else its address's. */
const identify = ({ keys, addressOf, requestsPerMinute }: PipelineParts): Step => {
  const callers = new WeakMap<KeyRecord, Caller>();
  const callerOf = (key: KeyRecord): Caller => {
    let caller = callers.get(key);
    if (!caller) {
      caller = {
        subject: `key:${key.shares_limit_of ?? key.id}`,
        limit: key.limit_per_minute ?? requestsPerMinute,
        key,
      };
      callers.set(key, caller);
    }
    return caller;
  };
  return (exchange) => {
    const identity = keys.identify(credentialsOf(exchange.request));
    if (identity.kind === 'key') exchange.caller = callerOf(identity.record);
    else {
      exchange.invalidKey = identity.kind === 'invalid';
      exchange.caller = { subject: `ip:${addressOf(exchange.request)}`, limit: requestsPerMinute, key: undefined };
    }
  };
};

/** Node keeps the first of two such headers; which of them a proxy before it believed, nobody knows. */
const credentialsOf = ({ headers, rawHeaders }: IncomingMessage): string | undefined => {
  let count = 0;
  for (let i = 0; i < rawHeaders.length; i += 2) {
    if (rawHeaders[i]!.length === 13 && rawHeaders[i]!.toLowerCase() === 'authorization') count++;
  }
  return count > 1 ? 'more than one' : headers.authorization;
};

/** Counts the request, and refuses it past the caller's limit. */
const limit = ({ limiter, logger }: PipelineParts): Step => {
  const settle = (exchange: Exchange, decision: Decision): void => {
    exchange.decision = decision;
    if (decision.allowed) return;
    // Not thrown: a refused request must not cost more than an admitted one, and a stack trace does.
    const seconds = Math.max(1, Math.ceil(decision.resetMs / 1000));
    const { status, head, body } = rateLimited;
    exchange.reply = { status, head: `${head}Retry-After: ${seconds}\r\n`, body };
  };
  const rateLimited = errorReply(new ApiError(errors.rate_limited), logger, '');
  return (exchange) => {
    if (exchange.match.address?.limited === false) return undefined;
    const { subject, limit } = exchange.caller!;
    const decision = limiter.take(subject, limit);
    if (decision instanceof Promise) return decision.then((decided) => settle(exchange, decided));
    return settle(exchange, decision);
  };
};

/** Refuses requests without a valid key where one is needed. OPTIONS asks about methods, not data. */
const authorize = ({ realm }: PipelineParts): Step => {
  const missing = { headers: { 'WWW-Authenticate': `Bearer realm="${realm}"` } };
  const invalid = { headers: { 'WWW-Authenticate': `Bearer realm="${realm}", error="invalid_token"` } };
  return ({ caller, invalidKey, match, request }) => {
    if (match.address?.needsKey && !caller?.key && match.address.methods.includes(request.method ?? '')) {
      throw invalidKey
        ? new ApiError(errors.invalid_api_key, undefined, invalid)
        : new ApiError(errors.missing_api_key, undefined, missing);
    }
  };
};

/** Methods, addresses, parameters and `Accept`: what can be refused without asking anybody. */
const checkRequest = ({ headers }: PipelineParts): Step => {
  return (exchange) => {
    const { request, response } = exchange;
    const { address, fault, form } = exchange.match;
    const method = request.method ?? '';
    const body = hasBody(request);
    // A body that nobody reads would be taken for the next request.
    if (body && !address?.mount) response.shouldKeepAlive = false;
    if (address && method === 'OPTIONS') {
      exchange.reply = { status: 204, head: headers.options(address.methods) };
      return;
    }
    if (address && !address.methods.includes(method)) {
      response.shouldKeepAlive = !body;
      const sentence = address.mount && `This address takes ${allowOf(address.methods)}.`;
      throw new ApiError(errors.method_not_allowed, sentence, { headers: headers.allow(address.methods) });
    }
    if (body && (!address || READS.has(method))) {
      throw new ApiError(errors.invalid_parameter, BODY_REFUSED, BODY_DETAILS);
    }
    if (fault) throw fault;
    if (!address.mount) {
      exchange.form = form ?? address.chooseForm(request.headers.accept);
      if (!exchange.form) throw new ApiError(errors.not_acceptable);
    }
  };
};

const READS: ReadonlySet<string> = new Set(['GET', 'HEAD']);
const BODY_REFUSED = 'This API takes no request bodies: send the request without one.';
const BODY_DETAILS = { details: [{ in: 'body', name: '', issue: 'must be absent' }] } as const;

const hasBody = ({ headers }: IncomingMessage): boolean =>
  headers['transfer-encoding'] !== undefined ||
  (headers['content-length'] !== undefined && headers['content-length'] !== '0');
