import type { IncomingMessage } from 'node:http';
import { type TrustProxy, trustedSocket } from './caller-address.js';

/**
 * Returns the prefix for links, without a trailing slash: the configured `publicUrl`, or else the `X-Forwarded-Prefix`
 * of a trusted proxy and the mount path.
 */
export type PublicUrl = (request: IncomingMessage | undefined) => string;

/**
 * Matches a safe path prefix. Empty and dot segments could make a link point to another origin, so they do not match.
 */
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
