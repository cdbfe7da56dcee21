/** Which address a request without a key counts against. */
import type { IncomingMessage } from 'node:http';
import { isIPv4, isIPv6, type Socket } from 'node:net';

export type CallerAddress = (request: IncomingMessage) => string;

/**
 * An IPv4 address as it is, an IPv6 one as its /64 network (`2001:db8:0:1::/64`), an IPv4-mapped one as IPv4;
 * undefined for anything else.
 */
export const normaliseAddress = (text: string): string | undefined => {
  const address = text.trim().replace(/%.*$/, '');
  if (isIPv4(address)) return address;
  if (!isIPv6(address)) return undefined;
  const groups = expand(address);
  const mapped = groups.slice(0, 5).every((group) => group === 0) && groups[5] === 0xffff;
  if (mapped) return [groups[6]! >> 8, groups[6]! & 255, groups[7]! >> 8, groups[7]! & 255].join('.');
  return `${groups
    .slice(0, 4)
    .map((group) => group.toString(16))
    .join(':')}::/64`;
};

/** The eight groups of an IPv6 address that `isIPv6` has accepted. */
const expand = (address: string): number[] => {
  const dotted = /^(.*:)(\d+)\.(\d+)\.(\d+)\.(\d+)$/.exec(address);
  const hex = dotted
    ? `${dotted[1]}${((+dotted[2]! << 8) | +dotted[3]!).toString(16)}:${((+dotted[4]! << 8) | +dotted[5]!).toString(16)}`
    : address;
  const [head = '', tail] = hex.split('::');
  const parse = (part: string) => (part === '' ? [] : part.split(':').map((group) => Number.parseInt(group, 16)));
  const left = parse(head);
  if (tail === undefined) return left;
  const right = parse(tail);
  return [...left, ...new Array<number>(8 - left.length - right.length).fill(0), ...right];
};

/** Of a socket that is gone there is nothing left to know. */
export const socketAddress = (socket: Socket): string => normaliseAddress(socket.remoteAddress ?? '') ?? 'unknown';

/**
 * @param trustedHops how many proxies stand before the service. With 1, the last entry of `X-Forwarded-For` is the
 * caller; entries further left are whatever the caller wrote, and are never believed.
 */
export const callerAddress = (trustedHops: number): CallerAddress => {
  const bySocket = new WeakMap<object, string>();
  const ofSocket: CallerAddress = ({ socket }) => {
    let address = bySocket.get(socket);
    if (address === undefined) {
      address = socketAddress(socket);
      bySocket.set(socket, address);
    }
    return address;
  };
  if (trustedHops === 0) return ofSocket;
  return (request) => {
    const header = request.headers['x-forwarded-for'];
    const entries = (Array.isArray(header) ? header.join(',') : (header ?? '')).split(',');
    return normaliseAddress(entries.at(-trustedHops) ?? '') ?? ofSocket(request);
  };
};
