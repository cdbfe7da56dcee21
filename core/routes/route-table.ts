/** From a URL to a route and its checked input, or to a mount: one resolution per URL, memoized. */
import Router, { type RouterMiddleware } from '@koa/router';
import type { Middleware } from 'koa';
import compose from 'koa-compose';
import type { Mount, Route } from '../contracts/plugin.js';
import { ApiError, errors } from '../errors.js';
import type { Endpoint, Match, ServiceContext, ServiceMiddleware } from '../pipeline/state.js';
import type { RegisteredMount, RegisteredRoute } from '../registry/register-plugins.js';
import { isLimited, isShared, listColumns, needsKey, parquetColumns } from '../registry/route-defaults.js';
import { csvFormat, type Format, jsonFormat, ndjsonFormat } from '../response/formats.js';
import { parquetFormat } from '../response/parquet-format.js';
import { mediaTypeChooser } from '../response/representation.js';
import { LruMap } from '../util/lru-map.js';
import { compileInput, decodePercent, type Input, parseTarget } from './input.js';

/** A route made ready to serve. */
export interface ServedRoute extends Endpoint {
  readonly route: Route;
  readonly mount?: undefined;
  readonly parseInput: ReturnType<typeof compileInput>;
  /** The first is used when the client has no preference. */
  readonly formats: readonly Format[];
  /** By `Accept`. */
  readonly chooseFormat: (accept: string | undefined) => Format | undefined;
}

interface ServedMount extends Endpoint {
  readonly mount: Mount;
}

/** A valid request to a route. Requests with the same cache key get the same body. */
export interface RouteMatch extends Match {
  readonly endpoint: ServedRoute;
  /** The handler's input: without the framework's own parameters. */
  readonly input: Input;
  readonly cacheKey: string;
  /** The format that the query names. */
  readonly format: Format | undefined;
  /** The date of the requested snapshot; undefined for the current one. */
  readonly asOf: string | undefined;
  /** The path's parameters, decoded. */
  readonly params: Readonly<Record<string, string>>;
  readonly error?: undefined;
}

const MEMOIZED_URLS = 10_000;
const MEMOIZED_LENGTH = 500;
const READS = ['GET', 'HEAD'];

interface RouteTableOptions {
  readonly basePath: string;
  readonly unknownParameters: 'reject' | 'ignore';
  readonly maxUrlBytes: number;
  readonly csvFormulaGuard: boolean;
  /** The last middleware of every route. */
  readonly handleRoute: ServiceMiddleware;
  /** The first middleware of a mount, and the last one. */
  readonly handleMount: (mount: Mount) => readonly ServiceMiddleware[];
}

export class RouteTable {
  readonly routes: readonly ServedRoute[];
  readonly mounts: readonly ServedMount[];
  readonly #router = new Router({ strict: true, sensitive: true });
  readonly #byName = new Map<string, ServedRoute>();
  readonly #maxUrlBytes: number;
  readonly #matches = new LruMap<string, Match>(MEMOIZED_URLS);

  constructor(
    routes: readonly RegisteredRoute[],
    mounts: readonly RegisteredMount[],
    { basePath, unknownParameters, maxUrlBytes, csvFormulaGuard, handleRoute, handleMount }: RouteTableOptions,
  ) {
    this.#maxUrlBytes = maxUrlBytes;
    this.routes = routes.map(({ route, plugin, middleware }) => {
      const columns = listColumns(route);
      const typed = parquetColumns(route);
      const formats: readonly Format[] = [
        jsonFormat,
        ...(columns ? [csvFormat(columns, csvFormulaGuard), ndjsonFormat] : []),
        ...(typed ? [parquetFormat(typed)] : []),
      ];
      const pattern = `${basePath}${route.path}`;
      const own = middleware.length > 0 ? [giveParams, ...middleware] : [];
      const layer = this.#router.register(
        pattern.replace(/\{([^}]+)\}/g, ':$1'),
        ['GET'],
        [...own, handleRoute] as Layers,
        {
          name: route.operationId,
        },
      );
      const served: ServedRoute = {
        route,
        pattern,
        names: [plugin.name, route.path],
        methods: READS,
        needsKey: needsKey(route),
        limited: isLimited(route),
        shared: isShared(route),
        handle: composed((layer as { readonly stack: unknown }).stack as readonly Middleware[]),
        parseInput: compileInput(route, unknownParameters),
        formats,
        chooseFormat: mediaTypeChooser(formats),
      };
      this.#byName.set(route.operationId, served);
      return served;
    });
    const served = mounts.map(({ mount, plugin, middleware }) => {
      const [first, last] = handleMount(mount);
      return {
        mount,
        pattern: mount.path,
        names: [plugin.name, mount.path],
        methods: mount.methods ?? READS,
        needsKey: mount.key ?? false,
        limited: true,
        shared: false,
        handle: composed([first, ...middleware, last] as readonly Middleware[]),
      };
    });
    // The mount with the longest path wins.
    this.mounts = served.sort((a, b) => b.pattern.length - a.pattern.length);
  }

  /** Never throws: a request that cannot be resolved is a match with a fault. */
  resolve(url: string): Match {
    const known = this.#matches.get(url);
    if (known) return known;
    const match = this.#resolve(url);
    // Faulty URLs are not memoized, since an attacker can send any number of them.
    if (!match.error && url.length <= MEMOIZED_LENGTH) this.#matches.set(url, match);
    return match;
  }

  #resolve(url: string): Match | RouteMatch {
    let endpoint: ServedRoute | undefined;
    try {
      const path = url.split('?', 1)[0]!;
      const found = path.length > this.#maxUrlBytes ? undefined : this.#find(path);
      endpoint = found?.served;
      if (url.length > this.#maxUrlBytes) throw new ApiError(errors.uri_too_long);
      const target = parseTarget(url);
      if (!found) {
        const mounted = this.mounts.find(
          ({ pattern }) => path === pattern || (pattern !== '/' && path.startsWith(`${pattern}/`)),
        );
        if (mounted) return { endpoint: mounted };
        decodePercent(path, 'path', path);
        throw new ApiError(errors.route_not_found);
      }
      const parameters = new Map(found.parameters.map(([name, raw]) => [name, decodePercent(raw, 'path', name)]));
      const { route, parseInput, formats } = found.served;
      const { input, format, asOf } = parseInput(parameters, target.query);
      const cacheKey = `${route.operationId} ${JSON.stringify(Object.entries(input).sort())}`;
      return {
        endpoint: found.served,
        input,
        cacheKey,
        format: formats.find(({ name }) => name === format),
        asOf,
        params: Object.fromEntries(parameters),
      };
    } catch (error) {
      if (error instanceof ApiError) return { endpoint, error };
      return { endpoint, error: new ApiError(errors.internal_error, undefined, { cause: error }) };
    }
  }

  #find(path: string): { served: ServedRoute; parameters: [string, string][] } | undefined {
    // A literal route wins over one with parameters, however they were registered.
    const layers = this.#router.match(path, 'GET').pathAndMethod;
    const layer = layers.toSorted((a, b) => a.paramNames.length - b.paramNames.length)[0];
    const served = layer && this.#byName.get(layer.name as string);
    if (!layer || !served) return undefined;
    const captures = layer.regexp.exec(path)?.slice(1) ?? [];
    return { served, parameters: layer.paramNames.map(({ name }, index) => [String(name), captures[index] ?? '']) };
  }
}

type Layers = RouterMiddleware[];

/** One middleware needs no composing. */
const composed = (middleware: readonly Middleware[]): ServiceMiddleware =>
  (middleware.length === 1 ? middleware[0] : compose([...middleware])) as ServiceMiddleware;

/** Sets `ctx.params` for a route's middleware, as @koa/router does. */
const giveParams: Middleware = (ctx, next) => {
  ctx['params'] = ((ctx as unknown as ServiceContext).state.match as RouteMatch | undefined)?.params ?? {};
  return next();
};
