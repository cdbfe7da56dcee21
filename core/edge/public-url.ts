/** The service's address as clients see it, including path prefixes stripped by a proxy or an embedding program. */
import type { IncomingMessage } from 'node:http';
import { type TrustProxy, trustedSocket } from './caller-address.js';

/**
 * Returns the prefix for links to the service: the configured `publicUrl`, or the path prefix of this request, or an
 * empty string. The path prefix consists of `X-Forwarded-Prefix`, if a trusted proxy sent it, and the mount path. It
 * never ends with a slash.
 */
export type PublicUrl = (request: IncomingMessage | undefined) => string;

/** A path without empty or dot segments, so that links with this prefix stay on the same origin. */
const PREFIX = /^(\/(?!\.{1,2}(\/|$))[A-Za-z0-9._~-]+)*\/?$/;

const prefixes = new WeakMap<IncomingMessage, string>();

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

export const publicPathOf = (publicUrl: string): string => publicUrl.replace(/^https?:\/\/[^/]+/, '');
