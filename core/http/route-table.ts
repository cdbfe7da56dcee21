/** From a URL to a route and its checked input, or to a mount: one resolution per URL, remembered. */
import Router, { type RouterMiddleware } from '@koa/router';
import type { Middleware } from 'koa';
import compose from 'koa-compose';
import { BoundedMap } from '../bounded-map.js';
import type { Mount, Route } from '../contracts/plugin.js';
import { ApiError, errors } from '../errors.js';
import type { RegisteredMount, RegisteredRoute } from '../registry/register-plugins.js';
import { isLimited, isShared, needsKey } from '../registry/route-traits.js';
import { csvColumns, csvForm } from './csv.js';
import { type Form, jsonForm } from './form.js';
import { splitInput } from './framework-parameters.js';
import { compileInput, type Input } from './input.js';
import { mediaTypeChooser } from './negotiation.js';
import type { ServiceContext, ServiceMiddleware } from './request-state.js';
import { decodePercent, parseTarget } from './request-target.js';

/** What the middleware ask of an address, whatever answers there. */
interface Address {
  /** The full path template, for logs and metrics. */
  readonly pattern: string;
  /** Beside OPTIONS. */
  readonly methods: readonly string[];
  readonly needsKey: boolean;
  readonly limited: boolean;
  /** Shared caches keep the answer: it carries nothing about the caller. */
  readonly shared: boolean;
  /** The plugin's own middleware, and what answers within them. */
  readonly handle: ServiceMiddleware;
}

/** A route made ready to serve. */
export interface ServedRoute extends Address {
  readonly route: Route;
  readonly mount?: undefined;
  readonly parseInput: ReturnType<typeof compileInput>;
  /** Its first answers where the client has no preference. */
  readonly forms: readonly Form[];
  /** By `Accept`. */
  readonly chooseForm: (accept: string | undefined) => Form | undefined;
}

export interface ServedMount extends Address {
  readonly mount: Mount;
}

/** A request that a route can answer: requests of one shape are answered alike. */
export interface RouteMatch {
  readonly address: ServedRoute;
  /** For the handler: without what the framework answers itself. */
  readonly input: Input;
  readonly shape: string;
  /** Where the query names one. */
  readonly form: Form | undefined;
  /** The date of the snapshot that is asked for; the current one's where it is undefined. */
  readonly asOf: string | undefined;
  /** The path's parameters, decoded. */
  readonly params: Readonly<Record<string, string>>;
  readonly fault?: undefined;
}

/** What a URL stands for. Where nothing can answer, `fault` says why. */
export type Match =
  | RouteMatch
  | (Unrouted & { readonly address: ServedMount; readonly fault?: undefined })
  | (Unrouted & { readonly address: ServedRoute | undefined; readonly fault: ApiError });

interface Unrouted {
  readonly input?: undefined;
  readonly form?: undefined;
  readonly params?: undefined;
}

const REMEMBERED_URLS = 10_000;
const REMEMBERED_LENGTH = 500;
const READS = ['GET', 'HEAD'];

export interface RouteTableOptions {
  readonly basePath: string;
  readonly unknownParameters: 'reject' | 'ignore';
  readonly maxUrlBytes: number;
  readonly csvFormulaGuard: boolean;
  /** The last middleware of every route. */
  readonly answerRoute: ServiceMiddleware;
  /** The first middleware of a mount, and the last one. */
  readonly answerMount: (mount: Mount) => readonly ServiceMiddleware[];
}

export class RouteTable {
  readonly routes: readonly ServedRoute[];
  readonly mounts: readonly ServedMount[];
  readonly #router = new Router({ strict: true, sensitive: true });
  readonly #byName = new Map<string, ServedRoute>();
  readonly #maxUrlBytes: number;
  readonly #matches = new BoundedMap<string, Match>(REMEMBERED_URLS);

  constructor(
    routes: readonly RegisteredRoute[],
    mounts: readonly RegisteredMount[],
    { basePath, unknownParameters, maxUrlBytes, csvFormulaGuard, answerRoute, answerMount }: RouteTableOptions,
  ) {
    this.#maxUrlBytes = maxUrlBytes;
    this.routes = routes.map(({ route, middleware }) => {
      const columns = csvColumns(route);
      const forms = columns ? [jsonForm, csvForm(columns, csvFormulaGuard)] : [jsonForm];
      const pattern = `${basePath}${route.path}`;
      const own = middleware.length > 0 ? [giveParams, ...middleware] : [];
      const layer = this.#router.register(
        pattern.replace(/\{([^}]+)\}/g, ':$1'),
        ['GET'],
        [...own, answerRoute] as Layers,
        {
          name: route.operationId,
        },
      );
      const served: ServedRoute = {
        route,
        pattern,
        methods: READS,
        needsKey: needsKey(route),
        limited: isLimited(route),
        shared: isShared(route),
        handle: composed((layer as { readonly stack: unknown }).stack as readonly Middleware[]),
        parseInput: compileInput(route, unknownParameters),
        forms,
        chooseForm: mediaTypeChooser(forms),
      };
      this.#byName.set(route.operationId, served);
      return served;
    });
    const served = mounts.map(({ mount, middleware }) => {
      const [first, last] = answerMount(mount);
      return {
        mount,
        pattern: mount.path,
        methods: mount.methods ?? READS,
        needsKey: mount.key ?? false,
        limited: true,
        shared: false,
        handle: composed([first, ...middleware, last] as readonly Middleware[]),
      };
    });
    // A mount below another one's path answers before it.
    this.mounts = served.sort((a, b) => b.pattern.length - a.pattern.length);
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
    let address: ServedRoute | undefined;
    try {
      const path = url.split('?', 1)[0]!;
      const found = path.length > this.#maxUrlBytes ? undefined : this.#find(path);
      address = found?.served;
      if (url.length > this.#maxUrlBytes) throw new ApiError(errors.uri_too_long);
      const target = parseTarget(url);
      if (!found) {
        const mounted = this.mounts.find(
          ({ pattern }) => path === pattern || (pattern !== '/' && path.startsWith(`${pattern}/`)),
        );
        if (mounted) return { address: mounted };
        decodePercent(path, 'path', path);
        throw new ApiError(errors.route_not_found);
      }
      const parameters = new Map(found.parameters.map(([name, raw]) => [name, decodePercent(raw, 'path', name)]));
      const { route, parseInput, forms } = found.served;
      const { input, framework } = splitInput(route, parseInput(parameters, target.query));
      const shape = `${route.operationId} ${JSON.stringify(Object.entries(input).sort())}`;
      const form = forms.find(({ name }) => name === framework.format);
      return {
        address: found.served,
        input,
        shape,
        form,
        asOf: framework.asOf,
        params: Object.fromEntries(parameters),
      };
    } catch (error) {
      if (error instanceof ApiError) return { address, fault: error };
      return { address, fault: new ApiError(errors.internal_error, undefined, { cause: error }) };
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

/** As @koa/router does for a route's middleware: its path parameters by name. */
const giveParams: Middleware = (ctx, next) => {
  ctx['params'] = (ctx as unknown as ServiceContext).state.match?.params ?? {};
  return next();
};
