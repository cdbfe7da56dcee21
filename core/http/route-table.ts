/** From a URL to a route and its checked input: one resolution per URL, remembered. */
import Router from '@koa/router';
import type { Middleware } from 'koa';
import type { Route } from '../contracts/plugin.js';
import { ApiError, errors } from '../errors.js';
import type { RegisteredRoute } from '../registry/register-plugins.js';
import { BoundedMap } from './bounded-map.js';
import { compileInput, type Input } from './input.js';
import { mediaTypeChooser } from './negotiation.js';
import { decodePercent, parseTarget } from './query-string.js';

/** A route made ready to serve. */
export interface ServedRoute {
  readonly route: Route;
  readonly pluginName: string;
  /** The full path template, for logs and metrics. */
  readonly pattern: string;
  readonly needsKey: boolean;
  readonly limited: boolean;
  /** Shared caches keep the answer: it carries nothing about the caller. */
  readonly shared: boolean;
  readonly middleware: readonly Middleware[];
  readonly parseInput: ReturnType<typeof compileInput>;
  readonly chooseMediaType: (accept: string | undefined) => string | undefined;
}

/** What a URL stands for. Without a route, or with wrong input, `fault` says why. */
export type Match =
  | { readonly route: ServedRoute; readonly input: Input; readonly shape: string; readonly fault?: undefined }
  | { readonly route: ServedRoute | undefined; readonly fault: ApiError };

const REMEMBERED_URLS = 10_000;
const REMEMBERED_LENGTH = 500;

export class RouteTable {
  readonly routes: readonly ServedRoute[];
  readonly #router = new Router({ strict: true, sensitive: true });
  readonly #byName = new Map<string, ServedRoute>();
  readonly #maxUrlBytes: number;
  readonly #matches = new BoundedMap<string, Match>(REMEMBERED_URLS);

  constructor(
    registered: readonly RegisteredRoute[],
    options: { basePath: string; unknownParameters: 'reject' | 'ignore'; maxUrlBytes: number },
  ) {
    this.#maxUrlBytes = options.maxUrlBytes;
    this.routes = registered.map(({ route, plugin, middleware }) => ({
      route,
      pluginName: plugin.name,
      pattern: `${options.basePath}${route.path}`,
      needsKey: route.key ?? true,
      limited: route.kind === 'data' || (route.limited ?? true),
      shared: route.kind === 'service' && route.sharedSeconds !== undefined,
      middleware,
      parseInput: compileInput(route, options.unknownParameters),
      chooseMediaType: mediaTypeChooser(['application/json']),
    }));
    for (const served of this.routes) {
      this.#byName.set(served.route.operationId, served);
      const path = served.pattern.replace(/\{([^}]+)\}/g, ':$1');
      this.#router.get(served.route.operationId, path, () => undefined);
    }
  }

  /** Never throws: a request that cannot be resolved is a match with a fault. */
  resolve(url: string): Match {
    const known = this.#matches.get(url);
    if (known) return known;
    const match = this.#resolve(url);
    // Faulty URLs are as many as an attacker likes: they are not remembered.
    if (!match.fault && url.length <= REMEMBERED_LENGTH) this.#matches.set(url, match);
    return match;
  }

  #resolve(url: string): Match {
    let route: ServedRoute | undefined;
    try {
      const path = url.split('?', 1)[0]!;
      const found = path.length > this.#maxUrlBytes ? undefined : this.#find(path);
      route = found?.served;
      if (url.length > this.#maxUrlBytes) throw new ApiError(errors.uri_too_long);
      const target = parseTarget(url);
      if (!found) {
        decodePercent(path, 'path', path);
        throw new ApiError(errors.route_not_found);
      }
      const parameters = new Map(found.parameters.map(([name, raw]) => [name, decodePercent(raw, 'path', name)]));
      const input = found.served.parseInput(parameters, target.query);
      const shape = `${found.served.route.operationId} ${JSON.stringify(Object.entries(input).sort())}`;
      return { route: found.served, input, shape };
    } catch (error) {
      if (error instanceof ApiError) return { route, fault: error };
      return { route, fault: new ApiError(errors.internal_error, undefined, { cause: error }) };
    }
  }

  #find(path: string): { served: ServedRoute; parameters: [string, string][] } | undefined {
    // A literal route wins over one with parameters, however they were registered.
    const layers = this.#router.match(path, 'GET').pathAndMethod;
    const layer = layers.toSorted((a, b) => a.paramNames.length - b.paramNames.length)[0];
    const served = layer && this.#byName.get(layer.name as string);
    if (!layer || !served) return undefined;
    const captures = layer.regexp!.exec(path)?.slice(1) ?? [];
    return { served, parameters: layer.paramNames.map(({ name }, index) => [String(name), captures[index] ?? '']) };
  }
}
