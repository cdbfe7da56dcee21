/**
 * One log line a request. It names the key by its id, carries nothing of the query but its route, and of the caller's
 * address no more than the configuration says.
 */
import { memoize } from '../cache/lru-map.js';
import type { Logger } from '../contracts/runtime.js';
import type { CallerAddress } from './caller-address.js';
import { threeDecimals } from './headers.js';
import { type ServiceContext, traceId } from './request-state.js';

/** JSON strings of names, memoized since few names occur. */
const quoted = memoize((name) => JSON.stringify(name));

const text = (name: string | null | undefined): string => (name === undefined || name === null ? 'null' : quoted(name));

/** Written as JSON text directly, in a sixth of the time that serializing an object takes. */
const members = ({ req, res, state }: ServiceContext): string => {
  const { id, match, caller, snapshotVersion, cacheHit, durationMs } = state;
  const trace = traceId(req.headers['traceparent']);
  // Ids need no escaping: see `requestId`.
  return `"requestId":"${id}","method":${text(req.method)},"route":${text(match?.endpoint?.pattern)},"status":${res.statusCode},"ms":${threeDecimals(durationMs)},"key":${text(caller?.key?.id)},"snapshot":${text(snapshotVersion)},"cached":${cacheHit},"trace":${trace === undefined ? 'null' : `"${trace}"`}`;
};

/** How much of a caller's address is logged. */
type LoggedAddress = 'none' | 'network' | 'full';

/** `203.0.113.7` is of the network `203.0.113.0/24`, `2001:db8:0:1::/64` of `2001:db8:0::/48`. */
const networkOf = (address: string): string => {
  if (!address.includes(':')) return address.replace(/\.\d+$/, '.0/24');
  return `${address.split(':').slice(0, 3).join(':')}::/48`;
};

/** @param addressOf as it counts against limits: an IPv4 address whole, an IPv6 one as its /64 network */
export const requestLog = (
  logger: Logger,
  addresses: LoggedAddress = 'none',
  addressOf: CallerAddress = () => 'unknown',
): ((ctx: ServiceContext) => void) => {
  const info =
    logger.infoJson?.bind(logger) ??
    ((json: string, message: string): void => logger.info(JSON.parse(`{${json}}`) as object, message));
  if (addresses === 'none') return (ctx) => info(members(ctx), 'request');
  const shown = addresses === 'full' ? (address: string) => address : networkOf;
  // Addresses are of harmless characters: see `caller-address.ts`.
  return (ctx) => info(`${members(ctx)},"address":"${shown(addressOf(ctx.req))}"`, 'request');
};
