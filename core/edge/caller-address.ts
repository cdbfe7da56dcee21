/** Determines the client's address. Behind a trusted proxy, uses `X-Forwarded-For`. */
import type { IncomingMessage } from 'node:http';
import { isIPv4, type Socket } from 'node:net';
import { groupsOf, inNetworks, plainAddress } from '../validation/network.js';

type CallerAddress = (request: IncomingMessage) => string;

export type TrustProxy = number | readonly string[];

const MOST_PROXIES = 16;

const countedAs = (address: string): string => {
  if (isIPv4(address)) return address;
  const network = groupsOf(address).slice(0, 4);
  return `${network.map((group) => group.toString(16)).join(':')}::/64`;
};

/**
 * Replaces an IPv6 address with its /64 network (`2001:db8:0:1::/64`), because a client can use any address in that
 * network. Converts IPv4-mapped addresses to IPv4.
 */
export const normaliseAddress = (text: string): string | undefined => {
  const address = plainAddress(text);
  return address === undefined ? undefined : countedAs(address);
};

/** Some proxies append the port: `192.0.2.1:49152`, `[2001:db8::1]:49152`. */
const WITH_PORT = /^(?:\[([^\]]*)\]|([\d.]+))(?::\d{1,5})?$/;

const forwardedAddress = (entry: string): string | undefined => {
  const text = entry.trim();
  const [, bracketed, dotted] = WITH_PORT.exec(text) ?? [];
  return plainAddress(bracketed ?? dotted ?? text);
};

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

export const socketAddress = (socket: Socket): string => normaliseAddress(socket.remoteAddress ?? '') ?? 'unknown';

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

export const trustedSocket = (trust: TrustProxy): ((socket: Socket) => boolean) => {
  if (typeof trust === 'number') return () => trust > 0;
  const isTrusted = inNetworks(trust);
  return onceForSocket((socket) => {
    const address = plainAddress(socket.remoteAddress ?? '');
    return address !== undefined && isTrusted(address);
  });
};

/**
 * Returns the client's address from `X-Forwarded-For`. If `trust` is the number n, the address is the n-th entry from
 * the right. If `trust` is a list of networks, the header is used only on connections from these networks. In this
 * case, the address is the rightmost entry outside the networks, or the leftmost entry if all are inside. Clients can
 * forge entries further to the left.
 */
const forwardedCaller = (trust: TrustProxy): ((request: IncomingMessage) => string | undefined) => {
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
      // If a trusted proxy sends an invalid entry, the proxy itself counts as the client.
      if (address === undefined) return caller;
      caller = address;
      position++;
      if (position === MOST_PROXIES || !isTrusted(address)) return caller;
    }
    return caller;
  };
};

export const trustedProxies = (trust: TrustProxy) =>
  typeof trust === 'number' ? trust : { isProxy: trustedSocket(trust), forwarded: forwardedCaller(trust) };

export const callerAddress = (trust: TrustProxy): CallerAddress => {
  const ofSocket = onceForSocket(socketAddress);
  if (trust === 0) return ({ socket }) => ofSocket(socket);
  const forwarded = forwardedCaller(trust);
  return (request) => {
    const address = forwarded(request);
    return address === undefined ? ofSocket(request.socket) : countedAs(address);
  };
};
