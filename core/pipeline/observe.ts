import type { IncomingMessage } from 'node:http';
import { finished } from 'node:stream';
import type { Config } from '../config/schema.js';
import type { Decision } from '../contracts/limiter.js';
import type { TraceParent } from '../contracts/observer.js';
import type { Logger } from '../contracts/runtime.js';
import { threeDecimals } from '../response/headers.js';
import { memoize } from '../util/lru-map.js';
import type { ApiContext, ApiMiddleware } from './api-koa.js';
import { combinedLine } from './combined-log.js';

type Report = (ctx: ApiContext) => void;

/**
 * @param measure called when a response has been written. For a stream, called when the stream starts, because slow
 *   clients must not look like a slow service
 * @param reports called when the last byte has been written, or when the connection has closed before that
 */
export const observe =
  (measure: Report | undefined, reports: readonly Report[]): ApiMiddleware =>
  (ctx, next) =>
    next().then(() => {
      const { requestState: state } = ctx;
      if (state.isInner) return;
      state.durationMs = performance.now() - state.startedAt;
      measure?.(ctx);
      if (!isWriting(ctx)) {
        for (const report of reports) report(ctx);
        return;
      }
      finished(ctx.res, (error) => {
        state.durationMs = performance.now() - state.startedAt;
        state.isAborted = error != null;
        for (const report of reports) report(ctx);
      });
    });

/**
 * True while the service is writing a response. False for a response without a socket, which might never be closed, and
 * for a response with `respond: false`, which a plugin writes.
 */
const isWriting = ({ res, respond }: ApiContext): boolean =>
  !res.writableEnded && res.socket !== null && respond !== false;

const quoted = memoize((name) => JSON.stringify(name));

const text = (name: string | null | undefined): string => (name === undefined || name === null ? 'null' : quoted(name));

/** Members of the log line as JSON text, because serializing an object would take six times as long. */
const members = ({ req, res, requestState: state }: ApiContext): string => {
  const { id, match, caller, decision, snapshotVersion, cacheHit, durationMs, isAborted } = state;
  const trace = traceId(req.headers['traceparent']);
  const limited = decision?.allowed === false ? `,"limitedBy":"${limitedBy(decision)}"` : '';
  const aborted = isAborted ? ',"aborted":true' : '';
  // Request ids contain only characters that need no escaping in JSON.
  return `"requestId":"${id}","method":${text(req.method)},"route":${text(match?.endpoint?.pattern)},"status":${res.statusCode},"ms":${threeDecimals(durationMs)},"key":${caller?.loggedKey ?? 'null'},"snapshot":${text(snapshotVersion)},"cached":${cacheHit},"trace":${trace === undefined ? 'null' : `"${trace}"`}${limited}${aborted}`;
};

const limitedBy = ({ quotas = [] }: Decision): string =>
  quotas.find(({ remaining }) => remaining === 0)?.name ?? 'window';

/** Shortens `203.0.113.7` to `203.0.113.0/24`, and `2001:db8:0:1::/64` to `2001:db8:0::/48`. */
const networkOf = (address: string): string => {
  if (!address.includes(':')) return address.replace(/\.\d+$/, '.0/24');
  return `${address.split(':').slice(0, 3).join(':')}::/48`;
};

/** True for a successful health check. Health checks are the only endpoints without a rate limit. */
const isProbe = ({ res, requestState: state }: ApiContext): boolean =>
  state.match?.endpoint?.limited === false && res.statusCode < 400;

export const withoutProbes =
  (report: (ctx: ApiContext) => void): ((ctx: ApiContext) => void) =>
  (ctx) => {
    if (!isProbe(ctx)) report(ctx);
  };

export const requestLog = (
  logger: Logger,
  { addresses, requests }: Pick<Config['log'], 'addresses' | 'requests'>,
  addressOf: (request: IncomingMessage) => string,
): ((ctx: ApiContext) => void) => {
  const shorten = addresses === 'full' ? (address: string) => address : networkOf;
  const shown = addresses === 'none' ? undefined : (request: IncomingMessage) => shorten(addressOf(request));
  if (requests === 'combined') {
    const line = logger.infoLine?.bind(logger) ?? ((text: string): void => logger.info(text));
    return (ctx) => line(combinedLine(ctx, shown?.(ctx.req) ?? '-'));
  }
  const info =
    logger.infoJson?.bind(logger) ??
    ((json: string, message: string): void => logger.info(JSON.parse(`{${json}}`) as object, message));
  if (!shown) return (ctx) => info(members(ctx), 'request');
  // Client addresses contain only characters that need no escaping in JSON.
  return (ctx) => info(`${members(ctx)},"address":"${shown(ctx.req)}"`, 'request');
};

/** Matches a W3C `traceparent` header (Trace Context level 1, 3.2). Future versions can append more fields. */
const TRACEPARENT = /^(?!ff)([0-9a-f]{2})-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/;

const SAMPLED = 1;

/** Parses a W3C `traceparent` header (Trace Context level 1, 3.2). Returns undefined if it is missing or invalid. */
export const traceParent = (header: string | string[] | undefined): TraceParent | undefined => {
  if (typeof header !== 'string') return undefined;
  const [, version, traceId, parentId, flags, more] = TRACEPARENT.exec(header) ?? [];
  // Version 00 of `traceparent` has no fields after the flags.
  if (traceId === undefined || parentId === undefined || (version === '00' && more !== undefined)) return undefined;
  return { traceId, parentId, sampled: (Number.parseInt(flags!, 16) & SAMPLED) === SAMPLED };
};

export const traceId = (header: string | string[] | undefined): string | undefined => traceParent(header)?.traceId;
