/** Which address a request without a key counts against, and which proxies are believed about it. */
import type { IncomingMessage } from 'node:http';
import { isIPv4, type Socket } from 'node:net';
import { groupsOf, inNetworks, plainAddress } from '../validation/network.js';

export type CallerAddress = (request: IncomingMessage) => string;

/** How many proxies stand before the service, or the networks that they are in. */
export type TrustProxy = number | readonly string[];

/** Proxies that may stand in a row. Entries of `X-Forwarded-For` beyond are not looked at. */
const MOST_PROXIES = 16;

/** @param address as `plainAddress` gives it: an IPv6 one becomes its /64 network (`2001:db8:0:1::/64`) */
const countedAs = (address: string): string => {
  if (isIPv4(address)) return address;
  const network = groupsOf(address).slice(0, 4);
  return `${network.map((group) => group.toString(16)).join(':')}::/64`;
};

/**
 * An IPv4 address as it is, an IPv6 one as its /64 network (`2001:db8:0:1::/64`), an IPv4-mapped one as IPv4;
 * undefined for anything else.
 */
export const normaliseAddress = (text: string): string | undefined => {
  const address = plainAddress(text);
  return address === undefined ? undefined : countedAs(address);
};

/** Some proxies write the port that the caller came from: `192.0.2.1:49152`, `[2001:db8::1]:49152`. */
const WITH_PORT = /^(?:\[([^\]]*)\]|([\d.]+))(?::\d{1,5})?$/;

/** @param entry of `X-Forwarded-For` */
const forwardedAddress = (entry: string): string | undefined => {
  const text = entry.trim();
  const [, bracketed, dotted] = WITH_PORT.exec(text) ?? [];
  return plainAddress(bracketed ?? dotted ?? text);
};

/** The entries of a list from its end. */
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

/** Undefined for a closed socket, whose address Node has forgotten. */
export const socketAddress = (socket: Socket): string => normaliseAddress(socket.remoteAddress ?? '') ?? 'unknown';

/** Computes something of a socket once. */
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

/** Tells whether the other end of a connection is a proxy that is believed. */
export const trustedSocket = (trust: TrustProxy): ((socket: Socket) => boolean) => {
  if (typeof trust === 'number') return () => trust > 0;
  const isTrusted = inNetworks(trust);
  return onceForSocket((socket) => {
    const address = plainAddress(socket.remoteAddress ?? '');
    return address !== undefined && isTrusted(address);
  });
};

/**
 * The caller's whole address as the proxies tell it; undefined where they tell none.
 *
 * With a count of proxies, that entry of `X-Forwarded-For` from its end, the last being 1. With networks, where the
 * connection comes from one of them, the rightmost entry that is in none; if all are, the leftmost. Entries further
 * left were written by the caller and are ignored.
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
      // What a trusted proxy wrote that is no address hides who came to it: the caller is that proxy.
      if (address === undefined) return caller;
      caller = address;
      position++;
      if (position === MOST_PROXIES || !isTrusted(address)) return caller;
    }
    return caller;
  };
};

/** The proxies as Koa needs them: how many, or which connections and addresses are theirs. */
export const trustedProxies = (trust: TrustProxy) =>
  typeof trust === 'number' ? trust : { isProxy: trustedSocket(trust), forwarded: forwardedCaller(trust) };

/** @param trust 0: `X-Forwarded-For` is ignored */
export const callerAddress = (trust: TrustProxy): CallerAddress => {
  const ofSocket = onceForSocket(socketAddress);
  if (trust === 0) return ({ socket }) => ofSocket(socket);
  const forwarded = forwardedCaller(trust);
  return (request) => {
    const address = forwarded(request);
    return address === undefined ? ofSocket(request.socket) : countedAs(address);
  };
};
