/** The address of the service as clients see it, possibly below a path of a proxy. */
import type { IncomingMessage } from 'node:http';
import { type TrustProxy, trustedSocket } from './caller-address.js';

/**
 * Returns the prefix for every path of the service as the client of a request sees it: the configured URL, the path in
 * `X-Forwarded-Prefix` from a trusted proxy, or an empty string. It never ends with a slash.
 */
export type PublicUrl = (request: IncomingMessage | undefined) => string;

/** A path without dot segments or empty segments, so that a link with this prefix stays on the same origin. */
const PREFIX = /^(\/(?!\.{1,2}(\/|$))[A-Za-z0-9._~-]+)*\/?$/;

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
    const prefix = request?.headers['x-forwarded-prefix'];
    const isTrusted = typeof prefix === 'string' && PREFIX.test(prefix) && isProxy(request!.socket);
    return isTrusted ? prefix.replace(/\/$/, '') : '';
  };
};

/** Returns the path of a public URL. */
export const publicPathOf = (publicUrl: string): string => publicUrl.replace(/^https?:\/\/[^/]+/, '');
