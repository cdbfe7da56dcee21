/** Checks all plugins together, and collects their routes, collections and errors. */
import { METHODS } from 'node:http';
import { resolve } from 'node:path';
import type { Middleware } from 'koa';
import { serviceSchema } from '../config/schema.js';
import type { Collection } from '../contracts/dataset.js';
import type { ObserverContext, RequestObserver } from '../contracts/observer.js';
import { type Mount, OWN_COMPONENTS, type Plugin, type Route, type StatusComponent } from '../contracts/plugin.js';
import { defaultService, type ServiceInfo } from '../contracts/service.js';
import { checkCollection, referenceErrors } from '../data/check-collection.js';
import { type ErrorKind, errors, OperatorError } from '../errors.js';
import { checkOptions } from '../validation/describe-errors.js';
import { isObject } from '../validation/json.js';
import { nearest } from '../validation/nearest.js';
import { listFrom, type Members, memberFaults } from './check-members.js';
import { linkFaults, routeFaults, sampleFaults, templateShape } from './check-route.js';
import { withFrameworkParameters } from './route-defaults.js';

/** A plugin with its options, and where in the config it is named. */
export interface LoadedPlugin {
  readonly plugin: Plugin;
  readonly options: unknown;
  readonly at: string;
}

export interface RegisteredRoute {
  /** With the parameters that the framework adds. */
  readonly route: Route;
  readonly plugin: Plugin;
  readonly middleware: readonly Middleware[];
}

export interface RegisteredMount {
  readonly mount: Mount;
  readonly plugin: Plugin;
  readonly middleware: readonly Middleware[];
}

export interface RegisteredObserver {
  /** The plugin's name. */
  readonly plugin: string;
  open(context: ObserverContext): RequestObserver;
}

export interface Registry {
  readonly plugins: readonly Plugin[];
  /** Who the service is: by the configuration, else by a plugin, else the framework's default. */
  readonly service: ServiceInfo;
  readonly routes: readonly RegisteredRoute[];
  readonly mounts: readonly RegisteredMount[];
  /** Around the whole service, in the sequence of the plugins. */
  readonly serviceMiddleware: readonly Middleware[];
  readonly observers: readonly RegisteredObserver[];
  readonly collections: ReadonlyMap<string, Collection>;
  readonly errors: ReadonlyMap<string, ErrorKind>;
}

const MOUNT_PATH = /^(\/|(\/[A-Za-z0-9._-]+)+)$/;

const label = (plugin: Plugin): string => `plugin "${plugin.name}" ${plugin.version}`;

interface Fitted {
  readonly registry: Registry;
  readonly faults: readonly string[];
  /** False: plugins with faults may have endpoints that the registry lacks. */
  readonly isComplete: boolean;
}

/**
 * Fits together what can be, and finds every fault, each naming both sides.
 * @param configured what the configuration says of the service
 * @param resolvePath for paths in options
 * @param missing plugins that could not be loaded: the lack of what they might declare is no fault
 */
export const fitPlugins = (
  loaded: readonly LoadedPlugin[],
  configured: Partial<ServiceInfo> = {},
  resolvePath: (path: string) => string = (path) => resolve(path),
  missing: readonly string[] = [],
): Fitted => {
  const faults: string[] = [];
  let isComplete = missing.length === 0;
  const names = new Map<string, LoadedPlugin>();
  const routes: RegisteredRoute[] = [];
  const mounts: RegisteredMount[] = [];
  const serviceMiddleware: Middleware[] = [];
  const observers: RegisteredObserver[] = [];
  const owners = new Map<string, Plugin>();
  const collections = new Map<string, { collection: Collection; owner: Plugin }>();
  const kinds = new Map<string, { kind: ErrorKind; owner: Plugin | undefined }>(
    Object.values(errors).map((kind) => [kind.code, { kind, owner: undefined }]),
  );

  const report = (plugin: Plugin, found: readonly string[], about = ''): void => {
    faults.push(...found.map((fault) => `${label(plugin)}: ${about}${fault}`));
  };
  /** @param what names the same thing for all plugins that declare it */
  const claim = (plugin: Plugin, what: string, described = what): void => {
    const other = owners.get(what);
    if (other) faults.push(`${label(plugin)} and ${label(other)} both declare ${described}`);
    else owners.set(what, plugin);
  };

  for (const entry of loaded) {
    const other = names.get(entry.plugin.name);
    if (other) faults.push(`${entry.at}: ${label(entry.plugin)} is loaded already, by ${other.at}`);
    else names.set(entry.plugin.name, entry);
  }

  const plugins = [...names.values()].map(({ plugin }) => plugin);
  const components: StatusComponent[] = [];
  let declaredService: Partial<ServiceInfo> = {};
  for (const plugin of plugins) {
    for (const component of plugin.components ?? []) {
      const { id, replaces } = component;
      report(plugin, componentFaults(component), `component "${id}": `);
      claim(plugin, `component "${id}"`);
      if (replaces !== undefined) claim(plugin, `what replaces component "${replaces}"`);
      components.push(component);
    }
    if (!plugin.service) continue;
    claim(plugin, 'who the service is');
    report(plugin, checkOptions('service', serviceSchema, plugin.service));
    declaredService = plugin.service;
  }
  const service: ServiceInfo = { ...defaultService, ...declaredService, ...configured };

  /** What one of a plugin's functions declares; an error in it is a fault of the plugin. */
  const listOf =
    ({ plugin, at }: LoadedPlugin) =>
    <T>(name: string, declare: () => readonly T[] | undefined): readonly T[] => {
      try {
        return listFrom(name, declare());
      } catch (error) {
        const faulty = error instanceof OperatorError ? error.faults : [];
        const message = error instanceof Error ? error.message : String(error);
        faults.push(`${at}: ${label(plugin)}: ${name} failed: ${message}`, ...faulty.map((fault) => `${at}: ${fault}`));
        isComplete = false;
        return [];
      }
    };

  const ownCollections = new Map<Plugin, readonly Collection[]>();
  const before = faults.length;
  for (const entry of names.values()) {
    const { plugin, options } = entry;
    const declared = plugin.collections;
    const own = listOf(entry)('collections', () =>
      typeof declared === 'function' ? declared(options, { resolvePath }) : declared,
    );
    ownCollections.set(plugin, own);
    for (const collection of own) {
      report(plugin, checkCollection(collection), `collection "${collection.name}": `);
      const other = collections.get(collection.name);
      if (!other) collections.set(collection.name, { collection, owner: plugin });
      else if (other.collection !== collection && !sameDeclaration(other.collection, collection)) {
        faults.push(`${label(plugin)} and ${label(other.owner)} declare collection "${collection.name}" differently`);
      }
    }
  }
  const byName = new Map([...collections].map(([name, { collection }]) => [name, collection]));
  const areCollectionsValid = faults.length === before;

  for (const entry of names.values()) {
    const { plugin, options, at } = entry;
    const list = listOf(entry);
    for (const need of plugin.needs ?? []) {
      if (names.has(need) || nearest(need, missing) !== undefined) continue;
      const guess = nearest(need, [...names.keys()]);
      faults.push(
        `${at}: ${label(plugin)} needs plugin "${need}", which the config does not load${guess ? ` (it loads "${guess}")` : ''}`,
      );
    }

    const functions = (name: string, declare: () => readonly Middleware[] | undefined): readonly Middleware[] => {
      const given = list(name, declare);
      for (const [index, each] of given.entries()) {
        if (typeof each === 'function') continue;
        faults.push(`${label(plugin)}: ${name}[${index}] must be a function, as Koa's middleware are`);
      }
      return given;
    };
    const declared = list('routes', () =>
      plugin.routes(options, { service, components, ownCollections: ownCollections.get(plugin)!, collections: byName }),
    );
    const mounted = list('mounts', () => plugin.mounts?.(options));
    const middleware = functions('middleware', () => plugin.middleware?.(options));
    serviceMiddleware.push(...functions('serviceMiddleware', () => plugin.serviceMiddleware?.(options)));
    if (plugin.options) report(plugin, sampleFaults(plugin.options, 'options'));
    if (plugin.observer) {
      observers.push({ plugin: plugin.name, open: (context) => plugin.observer!(options, context) });
    }
    for (const mount of mounted) {
      report(plugin, mountFaults(mount), `mount ${mount?.path}: `);
      if (!isObject(mount)) continue;
      claim(plugin, `mount ${mount.path}`);
      mounts.push({ mount, plugin, middleware });
    }
    for (const route of declared) {
      if (!isObject(route)) {
        faults.push(`${label(plugin)}: routes: each must be made by dataRoute or serviceRoute`);
        isComplete = false;
        continue;
      }
      const own = routeFaults(route);
      report(plugin, own);
      claim(plugin, `route ${templateShape(route.path)}`, `route ${route.path}`);
      claim(plugin, `operationId "${route.operationId}"`);
      if (own.length > 0) {
        isComplete = false;
        continue;
      }
      for (const kind of route.errors ?? []) {
        const other = kinds.get(kind.code);
        if (!other) kinds.set(kind.code, { kind, owner: plugin });
        else if (other.kind !== kind && other.kind.status !== kind.status) {
          faults.push(
            `${label(plugin)} and ${other.owner ? label(other.owner) : 'the framework'} declare error "${kind.code}" with different statuses`,
          );
        }
      }
      routes.push({ route: withFrameworkParameters(route), plugin, middleware });
    }
  }

  for (const { collection, owner } of areCollectionsValid ? collections.values() : []) {
    if (missing.length > 0 && collection.references?.some(({ to }) => !byName.has(to))) continue;
    report(owner, referenceErrors(collection, byName), `collection "${collection.name}" `);
  }
  const all = routes.map(({ route }) => route);
  for (const { route, plugin } of routes) report(plugin, linkFaults(route, all));

  const registry: Registry = {
    plugins,
    service,
    routes,
    mounts,
    serviceMiddleware,
    observers,
    collections: byName,
    errors: new Map([...kinds].map(([code, { kind }]) => [code, kind])),
  };
  return { registry, faults, isComplete };
};

const MOUNT: Members = {
  path: 'string',
  summary: 'string',
  handler: 'function',
  methods: 'list?',
  key: 'boolean?',
  contentSecurityPolicy: 'string?',
};

const mountFaults = (mount: Mount): string[] => {
  if (!isObject(mount)) return ['must be an object with path, summary and handler'];
  const faults = memberFaults(mount as unknown as Readonly<Record<string, unknown>>, MOUNT);
  if (faults.length > 0) return faults;
  return [
    ...(MOUNT_PATH.test(mount.path) ? [] : ['path must look like /docs']),
    ...(mount.methods ?? [])
      .filter((method) => !METHODS.includes(method))
      .map((method) => `methods: there is no HTTP method "${method}"; Node knows ${METHODS.join(', ')}`),
  ];
};

const componentFaults = ({ id, replaces }: StatusComponent): string[] => {
  const own: readonly string[] = OWN_COMPONENTS;
  const names = own.map((name) => `"${name}"`).join(' and ');
  return [
    ...(own.includes(id)
      ? ["the framework has a component of this id; give it another, and the framework's as replaces"]
      : []),
    ...(replaces === undefined || own.includes(replaces)
      ? []
      : [`replaces "${replaces}", but there are ${names} only`]),
  ];
};

/** Two packages may each have a copy of one declaration. */
const sameDeclaration = (a: Collection, b: Collection): boolean =>
  JSON.stringify([a.schema, a.key, a.orders ?? []]) === JSON.stringify([b.schema, b.key, b.orders ?? []]);
