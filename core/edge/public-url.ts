/** The address of the service as clients see it, including a path that a proxy or an embedding program removes. */
import type { IncomingMessage } from 'node:http';
import { type TrustProxy, trustedSocket } from './caller-address.js';

/**
 * Returns the prefix for every path of the service as the client of a request sees it: the configured URL, the path in
 * `X-Forwarded-Prefix` from a trusted proxy, or an empty string. It never ends with a slash.
 */
export type PublicUrl = (request: IncomingMessage | undefined) => string;

/** A path without dot segments or empty segments, so that a link with this prefix stays on the same origin. */
const PREFIX = /^(\/(?!\.{1,2}(\/|$))[A-Za-z0-9._~-]+)*\/?$/;

const prefixes = new WeakMap<IncomingMessage, string>();

/** Sets the path under which a program serves this request. */
export const setPrefix = (request: IncomingMessage, prefix: string): void => {
  if (prefix !== '') prefixes.set(request, prefix);
};

export const publicUrlOf = ({
  publicUrl,
  trustProxy,
}: {
  readonly publicUrl?: string | undefined;
  readonly trustProxy: TrustProxy;
}): PublicUrl => {
  if (publicUrl !== undefined) return () => publicUrl.replace(/\/$/, '');
  const isProxy = trustedSocket(trustProxy);
  return (request) => {
    if (!request) return '';
    const forwarded = request.headers['x-forwarded-prefix'];
    const isTrusted = typeof forwarded === 'string' && PREFIX.test(forwarded) && isProxy(request.socket);
    return (isTrusted ? forwarded.replace(/\/$/, '') : '') + (prefixes.get(request) ?? '');
  };
};

/** Returns the path of a public URL. */
export const publicPathOf = (publicUrl: string): string => publicUrl.replace(/^https?:\/\/[^/]+/, '');
