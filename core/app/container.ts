/**
 * The container for the services of an application (services.ts). Each service is created once, when it is first
 * resolved. It is opened after the services on which it depends. Services are closed in reverse order of creation.
 */
import 'reflect-metadata';
import { container, type DependencyContainer, instanceCachingFactory } from 'tsyringe';
import { OperatorError } from '../errors.js';
import { type Members, memberErrors } from '../registry/check-members.js';
import { isObject } from '../validation/json.js';
import { nearest } from '../validation/nearest.js';
import type { Definition, ServiceName, Services } from './service-types.js';
import { services } from './services.js';

/** The tokens under which the services are registered in the container. */
export const tokens = Object.fromEntries(Object.keys(services).map((name) => [name, Symbol(name)])) as {
  readonly [Name in ServiceName]: symbol;
};

/** Resolves a service by name, and with the correct type. */
export const resolve = <Name extends ServiceName>(from: DependencyContainer, name: Name): Services[Name] =>
  from.resolve<Services[Name]>(tokens[name]);

/**
 * Services that replace the configured ones. They are opened and closed like any other service. Null disables an
 * optional service.
 */
export type Overrides = Partial<Omit<Services, 'config' | 'modules'>>;

const LIFECYCLE = Symbol('lifecycle');

/**
 * Creates the container for one application. Applications in the same process share no services.
 * @throws OperatorError if an override has an unknown name or lacks a required member
 */
export const createContainer = (
  given: Pick<Services, 'config' | 'modules'>,
  overrides: Overrides = {},
): DependencyContainer => {
  checkOverrides(overrides);
  const own = container.createChildContainer();
  const lifecycle = new Lifecycle();
  const values: Partial<Services> = { ...overrides, ...given };
  for (const name of Object.keys(services) as ServiceName[]) {
    const definition = services[name] as Definition<unknown>;
    const make = (from: DependencyContainer): unknown => {
      const value = values[name] === undefined ? definition.make(dependencies(from, definition)) : values[name];
      lifecycle.add(name, definition, value);
      return value;
    };
    own.register(tokens[name], { useFactory: instanceCachingFactory(make) });
  }
  own.register(LIFECYCLE, { useValue: lifecycle });
  return own;
};

/** Returns only the services that a definition declares, so that the declared dependencies are always complete. */
const dependencies = (from: DependencyContainer, { needs }: Definition<unknown>): Services =>
  Object.fromEntries(needs.map((name) => [name, resolve(from, name)])) as unknown as Services;

const MAY_BE_NULL: readonly string[] = [
  'redis',
  'identities',
  'admission',
  'metrics',
  'observers',
] satisfies ServiceName[];

/** The members that replacement services must have. */
const MEMBERS: { readonly [Name in ServiceName]?: Members } = {
  clock: { now: 'function', monotonic: 'function' },
  logger: {
    debug: 'function',
    info: 'function',
    warn: 'function',
    error: 'function',
    fatal: 'function',
    child: 'function',
    infoJson: 'function?',
    infoLine: 'function?',
    setLevel: 'function?',
  },
  adapter: { open: 'function', close: 'function', ping: 'function', snapshot: 'function', publish: 'function?' },
  keyStore: {
    open: 'function',
    close: 'function',
    lookup: 'function',
    onChange: 'function',
    health: 'function',
    list: 'function',
  },
  limiter: { take: 'function', health: 'function', close: 'function', usage: 'function?', check: 'function?' },
  cache: { getOrBuild: 'function', health: 'function', close: 'function', check: 'function?' },
};

const checkOverrides = (overrides: Overrides): void => {
  const errors = Object.entries(overrides).flatMap(([name, value]) =>
    overrideErrors(name, value).map((error) => `overrides.${name}: ${error}`),
  );
  if (errors.length > 0) throw new OperatorError('The overrides of the application cannot be used:', errors);
};

const overrideErrors = (name: string, value: unknown): readonly string[] => {
  if (!Object.hasOwn(services, name) || name === 'config' || name === 'modules') {
    const guess = nearest(name, Object.keys(services));
    return [`no service has this name${guess ? `; did you mean "${guess}"?` : ''}`];
  }
  if (value === undefined || (value === null && MAY_BE_NULL.includes(name))) return [];
  if (value === null) return [`it must not be null; only ${MAY_BE_NULL.join(', ')} can be switched off`];
  if (!isObject(value) && typeof value !== 'function') return ['it must be an object'];
  return memberErrors(value as Readonly<Record<string, unknown>>, MEMBERS[name as ServiceName] ?? {});
};

/** Opens the services that were created. Rejects with the first error; the caller must then close them. */
export const open = (from: DependencyContainer): Promise<void> => from.resolve<Lifecycle>(LIFECYCLE).open();

/** Closes the services that were created, even if closing one of them fails. Rejects with the first error. */
export const close = (from: DependencyContainer): Promise<void> => from.resolve<Lifecycle>(LIFECYCLE).close();

interface Made {
  readonly definition: Definition<unknown>;
  readonly value: object;
  opened?: Promise<unknown>;
}

class Lifecycle {
  /** The services in the order of creation, except services that are null. */
  readonly #made = new Map<ServiceName, Made>();
  #closed: Promise<void> | undefined;

  add(name: ServiceName, definition: Definition<unknown>, value: unknown): void {
    if (value !== null) this.#made.set(name, { definition, value: value as object });
  }

  async open(): Promise<void> {
    const results = await Promise.allSettled([...this.#made.keys()].map((name) => this.#open(name)));
    for (const result of results) if (result.status === 'rejected') throw result.reason;
  }

  /** Opens a service after its dependencies. Services that are independent of each other are opened concurrently. */
  async #open(name: ServiceName): Promise<void> {
    const made = this.#made.get(name);
    if (!made) return;
    const { definition, value } = made;
    made.opened ??= Promise.all(definition.needs.map((need) => this.#open(need))).then(() => definition.open?.(value));
    await made.opened;
  }

  close(): Promise<void> {
    this.#closed ??= this.#close();
    return this.#closed;
  }

  async #close(): Promise<void> {
    const failures: unknown[] = [];
    for (const { definition, value } of [...this.#made.values()].reverse()) {
      try {
        await definition.close?.(value);
      } catch (error) {
        failures.push(error);
      }
    }
    if (failures.length > 0) throw failures[0];
  }
}
