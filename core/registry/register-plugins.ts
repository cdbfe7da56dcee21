import { resolve } from 'node:path';
import type { Middleware } from 'koa';
import { serviceSchema } from '../config/schema.js';
import type { Collection } from '../contracts/dataset.js';
import type { Format } from '../contracts/format.js';
import { OWN_COMPONENTS, type Plugin, type StatusComponent } from '../contracts/plugin.js';
import { defaultService, type ServiceInfo } from '../contracts/service.js';
import type { ErrorKind } from '../errors.js';
import { checkOptions } from '../validation/describe-errors.js';
import { nearest } from '../validation/nearest.js';
import { sampleErrors } from './check-route.js';
import { collectCollections } from './collect-collections.js';
import {
  collectErrors,
  collectMounts,
  collectRoutes,
  type RegisteredMount,
  type RegisteredRoute,
} from './collect-endpoints.js';
import { collectFormats } from './collect-formats.js';
import { type LoadedPlugin, label, Registration } from './registration.js';

export type { RegisteredMount, RegisteredRoute } from './collect-endpoints.js';
export type { LoadedPlugin } from './registration.js';

export interface Registry {
  readonly plugins: readonly LoadedPlugin[];
  /**
   * Values from the configuration take precedence over values from plugins, which take precedence over the defaults.
   */
  readonly info: ServiceInfo;
  readonly routes: readonly RegisteredRoute[];
  readonly mounts: readonly RegisteredMount[];
  readonly serviceMiddleware: readonly Middleware[];
  readonly formats: readonly Format[];
  readonly collections: ReadonlyMap<string, Collection>;
  readonly errors: ReadonlyMap<string, ErrorKind>;
}

interface Registered {
  readonly registry: Registry;
  readonly errors: readonly string[];
  /** False if an endpoint might be missing because of an error in a plugin. */
  readonly isComplete: boolean;
}

/** @param missing plugins that failed to load; references to them are not reported as errors */
export const registerPlugins = (
  loaded: readonly LoadedPlugin[],
  configured: Partial<ServiceInfo> = {},
  resolvePath: (path: string) => string = (path) => resolve(path),
  missing: readonly string[] = [],
): Registered => {
  const registration = new Registration(missing.length === 0);
  const entries = uniquePlugins(loaded, registration);
  const components = collectComponents(entries, registration);
  const info = mergeService(entries, configured, registration);
  const collections = collectCollections(entries, resolvePath, registration, missing);
  checkNeeds(entries, missing, registration);
  checkOptionSamples(entries, registration);
  checkSecuritySchemes(entries, registration);
  const { middlewareOf, serviceMiddleware } = collectMiddleware(entries, registration);
  const formats = collectFormats(entries, registration);
  const mounts = collectMounts(entries, middlewareOf, registration);
  const routes = collectRoutes(
    entries,
    middlewareOf,
    (plugin) => ({
      info,
      components,
      ownCollections: collections.own.get(plugin)!,
      collections: collections.byName,
    }),
    registration,
    formats,
  );
  const registry: Registry = {
    plugins: entries,
    info,
    routes,
    mounts,
    serviceMiddleware,
    formats,
    collections: collections.byName,
    errors: collectErrors(routes, registration),
  };
  return { registry, errors: registration.errors, isComplete: registration.isComplete };
};

const uniquePlugins = (loaded: readonly LoadedPlugin[], registration: Registration): readonly LoadedPlugin[] => {
  const byName = new Map<string, LoadedPlugin>();
  for (const entry of loaded) {
    const { plugin, at } = entry;
    const other = byName.get(plugin.name);
    if (other) registration.errors.push(`${at}: ${label(plugin)} is already loaded by ${other.at}`);
    else byName.set(plugin.name, entry);
  }
  return [...byName.values()];
};

const collectComponents = (entries: readonly LoadedPlugin[], registration: Registration): readonly StatusComponent[] =>
  entries.flatMap(({ plugin }) => {
    const components = plugin.components ?? [];
    for (const component of components) {
      const { id, replaces } = component;
      registration.report(plugin, componentErrors(component), `component "${id}": `);
      registration.claim(plugin, `component "${id}"`);
      if (replaces !== undefined) registration.claim(plugin, `a replacement for component "${replaces}"`);
    }
    return components;
  });

const componentErrors = ({ id, replaces, check }: StatusComponent): string[] => {
  const own: readonly string[] = OWN_COMPONENTS;
  const names = own.map((name) => `"${name}"`).join(' and ');
  const isTaken = own.includes(id);
  const isUnknown = replaces !== undefined && !own.includes(replaces);
  return [
    ...(isTaken
      ? ['the framework has a component with this id; to replace it, use a different id and set replaces']
      : []),
    ...(isUnknown ? [`cannot replace "${replaces}", only ${names}`] : []),
    ...(check === undefined && replaces === undefined ? ['check is missing'] : []),
  ];
};

const mergeService = (
  entries: readonly LoadedPlugin[],
  configured: Partial<ServiceInfo>,
  registration: Registration,
): ServiceInfo => {
  let declared: Partial<ServiceInfo> = {};
  for (const { plugin } of entries) {
    if (!plugin.info) continue;
    registration.claim(plugin, 'info');
    registration.report(plugin, checkOptions('info', serviceSchema, plugin.info, { isTested: true }));
    declared = plugin.info;
  }
  return { ...defaultService, ...declared, ...configured };
};

const checkNeeds = (entries: readonly LoadedPlugin[], missing: readonly string[], registration: Registration): void => {
  const names = entries.map(({ plugin }) => plugin.name);
  for (const { plugin, at } of entries) {
    for (const need of plugin.needs ?? []) {
      if (names.includes(need) || nearest(need, missing) !== undefined) continue;
      const guess = nearest(need, names);
      registration.errors.push(
        `${at}: ${label(plugin)} needs plugin "${need}", which the configuration does not load${guess ? ` (it loads "${guess}")` : ''}`,
      );
    }
  }
};

const checkOptionSamples = (entries: readonly LoadedPlugin[], registration: Registration): void => {
  for (const { plugin } of entries) {
    if (plugin.options) registration.report(plugin, sampleErrors(plugin.options, 'options'));
  }
};

/** The types of OpenAPI 3.1, 4.8.27. */
const SECURITY_TYPES: readonly string[] = ['apiKey', 'http', 'mutualTLS', 'oauth2', 'openIdConnect'];

const checkSecuritySchemes = (entries: readonly LoadedPlugin[], registration: Registration): void => {
  for (const { plugin } of entries) {
    const { identity, securityScheme } = plugin;
    if (!securityScheme) continue;
    if (!identity) registration.report(plugin, ['"securityScheme" needs "identity"']);
    if (!SECURITY_TYPES.includes(securityScheme.type))
      registration.report(plugin, [`"securityScheme.type" must be one of ${SECURITY_TYPES.join(', ')}`]);
  }
};

const collectMiddleware = (entries: readonly LoadedPlugin[], registration: Registration) => {
  const functionsOf = (entry: LoadedPlugin, name: 'middleware' | 'serviceMiddleware'): readonly Middleware[] => {
    const { plugin, options } = entry;
    const functions = registration.listOf(entry, name, () => plugin[name]?.(options));
    for (const [index, each] of functions.entries()) {
      if (typeof each === 'function') continue;
      registration.errors.push(`${label(plugin)}: ${name}[${index}] must be a function, such as a Koa middleware`);
    }
    return functions;
  };
  const byPlugin = new Map(entries.map((entry) => [entry.plugin, functionsOf(entry, 'middleware')]));
  return {
    middlewareOf: (plugin: Plugin) => byPlugin.get(plugin)!,
    serviceMiddleware: entries.flatMap((entry) => functionsOf(entry, 'serviceMiddleware')),
  };
};
