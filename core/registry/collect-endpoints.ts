import { METHODS } from 'node:http';
import type { Middleware } from 'koa';
import type { Format } from '../contracts/format.js';
import type { Mount, Plugin, PluginContext, Route } from '../contracts/plugin.js';
import { type ErrorKind, errors } from '../errors.js';
import { isObject } from '../validation/json.js';
import { type Members, memberErrors } from './check-members.js';
import { linkErrors, routeErrors, templateShape } from './check-route.js';
import { type LoadedPlugin, label, type Registration } from './registration.js';
import { withFrameworkParameters } from './route-defaults.js';

interface Registered {
  readonly plugin: Plugin;
  readonly middleware: readonly Middleware[];
}

export interface RegisteredRoute extends Registered {
  readonly route: Route;
}

export interface RegisteredMount extends Registered {
  readonly mount: Mount;
}

type MiddlewareOf = (plugin: Plugin) => readonly Middleware[];

/** Another plugin can replace a mount of a default plugin by declaring a mount at the same path. */
export const collectMounts = (
  entries: readonly LoadedPlugin[],
  middlewareOf: MiddlewareOf,
  registration: Registration,
): readonly RegisteredMount[] => {
  const declared = entries.flatMap((entry) => {
    const { plugin, options, isDefault = false } = entry;
    const mounts = registration.listOf(entry, 'mounts', () => plugin.mounts?.(options));
    return mounts.map((mount) => ({ mount, plugin, isDefault }));
  });
  const taken = new Set(declared.filter(({ isDefault }) => !isDefault).map(({ mount }) => mount?.path));
  return declared.flatMap(({ mount, plugin, isDefault }) => {
    if (isDefault && taken.has(mount?.path)) return [];
    registration.report(plugin, mountErrors(mount), `mount ${mount?.path}: `);
    if (!isObject(mount)) return [];
    registration.claim(plugin, `mount ${mount.path}`);
    return [{ mount, plugin, middleware: middlewareOf(plugin) }];
  });
};

const MOUNT_PATH = /^(\/|(\/[A-Za-z0-9._-]+)+)$/;
/** Matches a token as defined by RFC 9110, 5.6.2. */
const HEADER_NAME = /^[A-Za-z0-9!#$%&'*+.^_`|~-]+$/;
const PAGES: readonly Mount['page'][] = ['main', 'guide', 'unlisted'];
const MOUNT: Members = {
  path: 'string',
  summary: 'string',
  handler: 'function',
  upgrade: 'function?',
  methods: 'list?',
  key: 'boolean?',
  contentSecurityPolicy: 'string?',
  page: 'string?',
  document: 'string?',
  frontPage: 'function?',
  requestHeaders: 'list?',
  exposedHeaders: 'list?',
};

const mountErrors = (mount: Mount): string[] => {
  if (!isObject(mount)) return ['must be an object with path, summary and handler'];
  const found = memberErrors(mount as unknown as Readonly<Record<string, unknown>>, MOUNT);
  if (found.length > 0) return found;
  return [
    ...(MOUNT_PATH.test(mount.path) ? [] : ['path must look like /docs']),
    ...(mount.page === undefined || PAGES.includes(mount.page) ? [] : ['page must be "main", "guide" or "unlisted"']),
    ...(mount.methods ?? [])
      .filter((method) => !METHODS.includes(method))
      .map((method) => `methods: there is no HTTP method "${method}"; Node supports ${METHODS.join(', ')}`),
    ...(['requestHeaders', 'exposedHeaders'] as const).flatMap((member) =>
      (mount[member] ?? [])
        .filter((name) => !HEADER_NAME.test(name))
        .map((name) => `${member}: "${name}" is not a header name`),
    ),
  ];
};

/** Omits routes with errors. */
export const collectRoutes = (
  entries: readonly LoadedPlugin[],
  middlewareOf: MiddlewareOf,
  contextOf: (plugin: Plugin) => PluginContext,
  registration: Registration,
  formats: readonly Format[],
): readonly RegisteredRoute[] => {
  const routes = entries.flatMap((entry) => {
    const { plugin, options } = entry;
    const declared = registration.listOf(entry, 'routes', () => plugin.routes?.(options, contextOf(plugin)));
    return declared.flatMap((route) =>
      isFit(route, entry, registration)
        ? [{ route: withFrameworkParameters(route, formats), plugin, middleware: middlewareOf(plugin) }]
        : [],
    );
  });
  const all = routes.map(({ route }) => route);
  for (const { route, plugin } of routes) registration.report(plugin, linkErrors(route, all));
  return routes;
};

const isFit = (route: Route, { plugin, isTested = false }: LoadedPlugin, registration: Registration): boolean => {
  if (!isObject(route)) {
    registration.reportLack(plugin, ['routes: each must be created by dataRoute or serviceRoute']);
    return false;
  }
  const found = isTested ? [] : routeErrors(route);
  if (found.length > 0) registration.reportLack(plugin, found);
  registration.claim(plugin, `route ${templateShape(route.path)}`, `route ${route.path}`);
  registration.claim(plugin, `operationId "${route.operationId}"`);
  return found.length === 0;
};

export const collectErrors = (
  routes: readonly RegisteredRoute[],
  registration: Registration,
): ReadonlyMap<string, ErrorKind> => {
  const kinds = new Map<string, ErrorKind>(Object.values(errors).map((kind) => [kind.code, kind]));
  const owners = new Map<string, Plugin>();
  for (const { route, plugin } of routes) {
    for (const kind of route.errors ?? []) {
      const { code, status } = kind;
      const other = kinds.get(code);
      if (!other) {
        kinds.set(code, kind);
        owners.set(code, plugin);
      } else if (other.status !== status) {
        const owner = owners.get(code);
        registration.errors.push(
          `${label(plugin)} and ${owner ? label(owner) : 'the framework'} declare error "${code}" with different statuses`,
        );
      }
    }
  }
  return kinds;
};
