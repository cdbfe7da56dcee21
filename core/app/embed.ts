import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Context, Next } from 'koa';
import type { Mount } from '../contracts/plugin.js';
import type { Handle } from '../edge/accept.js';
import { setPrefix } from '../edge/public-url.js';

export interface EmbeddedMiddleware {
  (ctx: Context, next: Next): Promise<unknown>;
  (request: IncomingMessage, response: ServerResponse, next: (error?: unknown) => void): void;
}

type ForeignRequest = IncomingMessage & {
  readonly baseUrl?: string;
  body?: unknown;
};

interface EmbedOptions {
  readonly handle: Handle;
  readonly basePath: string;
  readonly mounts: readonly Mount[];
}

const isBelow = (path: string, parent: string): boolean => path === parent || path.startsWith(`${parent}/`);

const without = (prefix: string, url: string): string | undefined => {
  if (!url.startsWith(prefix)) return undefined;
  const rest = url.slice(prefix.length);
  if (rest === '' || rest.startsWith('?')) return `/${rest}`;
  return rest.startsWith('/') ? rest : undefined;
};

export const embedded = ({ handle, basePath, mounts }: EmbedOptions, prefix = ''): EmbeddedMiddleware => {
  if (!/^(\/[A-Za-z0-9._~-]+)*$/.test(prefix)) throw new TypeError(`The prefix "${prefix}" must look like /data.`);
  const owned = [basePath, ...mounts.map(({ path }) => path).filter((path) => path !== '/')];

  const take = (request: ForeignRequest, response: ServerResponse, removed: string): Promise<void> | undefined => {
    const url = without(prefix, request.url ?? '/');
    if (url === undefined) return undefined;
    const path = url.split('?', 1)[0]!;
    const above = removed + prefix;
    const isOwned = owned.some((parent) => isBelow(path, parent)) || (above !== '' && path === '/');
    if (!isOwned) return undefined;
    request.url = url;
    setPrefix(request, above);
    return handle(request, response);
  };

  return ((first: Context | ForeignRequest, second: Next | ServerResponse, third?: () => void) => {
    if (!('req' in first && 'res' in first)) {
      const request = first as ForeignRequest;
      if (!take(request, second as ServerResponse, request.baseUrl ?? '')) third!();
      return undefined;
    }
    const { req, res, request } = first as Context;
    const { body } = request as { readonly body?: unknown };
    if (body !== undefined) (req as ForeignRequest).body ??= body;
    const handled = take(req, res, String(first['mountPath'] ?? ''));
    if (!handled) return (second as Next)();
    (first as Context).respond = false;
    return handled;
  }) as EmbeddedMiddleware;
};
