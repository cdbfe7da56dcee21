/** Finds the address of the client, which may be behind trusted proxies. */
import type { IncomingMessage } from 'node:http';
import { isIPv4, type Socket } from 'node:net';
import { groupsOf, inNetworks, plainAddress } from '../validation/network.js';

export type CallerAddress = (request: IncomingMessage) => string;

/** The number of proxies in front of the service, or their networks. */
export type TrustProxy = number | readonly string[];

/** The longest supported chain of proxies. Further entries of `X-Forwarded-For` are ignored. */
const MOST_PROXIES = 16;

/** @returns the IPv4 address, or the /64 network of the IPv6 address */
const countedAs = (address: string): string => {
  if (isIPv4(address)) return address;
  const network = groupsOf(address).slice(0, 4);
  return `${network.map((group) => group.toString(16)).join(':')}::/64`;
};

/**
 * Returns an IPv4 address unchanged, an IPv6 address as its /64 network (`2001:db8:0:1::/64`), and an IPv4-mapped
 * address as IPv4. Undefined for any other text.
 */
export const normaliseAddress = (text: string): string | undefined => {
  const address = plainAddress(text);
  return address === undefined ? undefined : countedAs(address);
};

/** Some proxies add the port: `192.0.2.1:49152`, `[2001:db8::1]:49152`. */
const WITH_PORT = /^(?:\[([^\]]*)\]|([\d.]+))(?::\d{1,5})?$/;

const forwardedAddress = (entry: string): string | undefined => {
  const text = entry.trim();
  const [, bracketed, dotted] = WITH_PORT.exec(text) ?? [];
  return plainAddress(bracketed ?? dotted ?? text);
};

/** Yields the entries of a comma-separated list from right to left. */
function* fromRight(list: string): Generator<string> {
  for (let end = list.length; end >= 0; ) {
    const comma = end === 0 ? -1 : list.lastIndexOf(',', end - 1);
    yield list.slice(comma + 1, end);
    end = comma;
  }
}

const forwardedFor = (request: IncomingMessage): string => {
  const header = request.headers['x-forwarded-for'];
  return Array.isArray(header) ? header.join(',') : (header ?? '');
};

/** Returns `unknown` for a closed socket, because Node no longer knows its address. */
export const socketAddress = (socket: Socket): string => normaliseAddress(socket.remoteAddress ?? '') ?? 'unknown';

/** Computes a result once for each socket and remembers it. */
const onceForSocket = <T>(compute: (socket: Socket) => T): ((socket: Socket) => T) => {
  const known = new WeakMap<Socket, { readonly value: T }>();
  return (socket) => {
    let found = known.get(socket);
    if (found === undefined) {
      found = { value: compute(socket) };
      known.set(socket, found);
    }
    return found.value;
  };
};

/** Whether the other end of a connection is a trusted proxy. */
export const trustedSocket = (trust: TrustProxy): ((socket: Socket) => boolean) => {
  if (typeof trust === 'number') return () => trust > 0;
  const isTrusted = inNetworks(trust);
  return onceForSocket((socket) => {
    const address = plainAddress(socket.remoteAddress ?? '');
    return address !== undefined && isTrusted(address);
  });
};

/**
 * Reads the client's full address from `X-Forwarded-For`. Undefined if there is none.
 *
 * If the proxies are given as a number, the address is the entry at that position from the right. If they are given as
 * networks and the connection comes from one of them, it is the rightmost entry outside the networks, or the leftmost
 * entry if all are inside. Entries further to the left are ignored, because the client can forge them.
 */
export const forwardedCaller = (trust: TrustProxy): ((request: IncomingMessage) => string | undefined) => {
  if (typeof trust === 'number') {
    return (request) => {
      let position = 0;
      for (const entry of fromRight(forwardedFor(request))) {
        position++;
        if (position === trust) return forwardedAddress(entry);
      }
      return undefined;
    };
  }
  const isTrusted = inNetworks(trust);
  const isProxy = trustedSocket(trust);
  return (request) => {
    if (!isProxy(request.socket)) return undefined;
    let caller: string | undefined;
    let position = 0;
    for (const entry of fromRight(forwardedFor(request))) {
      const address = forwardedAddress(entry);
      // A trusted proxy wrote something that is not an address, so the proxy itself counts as the client.
      if (address === undefined) return caller;
      caller = address;
      position++;
      if (position === MOST_PROXIES || !isTrusted(address)) return caller;
    }
    return caller;
  };
};

/** The proxies in the form that Koa needs: their number, or functions that recognise them. */
export const trustedProxies = (trust: TrustProxy) =>
  typeof trust === 'number' ? trust : { isProxy: trustedSocket(trust), forwarded: forwardedCaller(trust) };

/** Returns the address to which a request without a key is counted. With 0 proxies, `X-Forwarded-For` is ignored. */
export const callerAddress = (trust: TrustProxy): CallerAddress => {
  const ofSocket = onceForSocket(socketAddress);
  if (trust === 0) return ({ socket }) => ofSocket(socket);
  const forwarded = forwardedCaller(trust);
  return (request) => {
    const address = forwarded(request);
    return address === undefined ? ofSocket(request.socket) : countedAs(address);
  };
};
