/**
 * How the services of one application are made, replaced, opened and closed: each is registered once in a tsyringe
 * container, made from those that it needs when it is first resolved, and closed in the reverse order of making.
 */
import 'reflect-metadata';
import { container, type DependencyContainer } from 'tsyringe';
import { OperatorError } from '../errors.js';
import { nearest } from '../validation/nearest.js';
import { type ServiceName, type Services, services } from './services.js';

/** One service: what it needs, how it is made of that, and what it wants done before its users and after them. */
export interface Registration<Value> {
  readonly needs: readonly ServiceName[];
  make(dependencies: Services): Value;
  open?(value: Value): Promise<unknown>;
  close?(value: Value): unknown;
}

/** The token of each service in the container. */
export const tokens = Object.fromEntries(Object.keys(services).map((name) => [name, Symbol(name)])) as {
  readonly [Name in ServiceName]: symbol;
};

/** Resolves a service by its name, typed. */
export const resolve = <Name extends ServiceName>(from: DependencyContainer, name: Name): Services[Name] =>
  from.resolve<Services[Name]>(tokens[name] as never);

/** Services given here are used as they are instead of being made; they are opened and closed all the same. */
export type Overrides = Partial<Omit<Services, 'config' | 'modules'>>;

const LIFECYCLE = Symbol('lifecycle');

/**
 * A container of its own for each application: two in one process share nothing.
 * @throws OperatorError for the name of an override that is no service's
 */
export const createContainer = (
  given: Pick<Services, 'config' | 'modules'>,
  overrides: Overrides = {},
): DependencyContainer => {
  checkNames(overrides);
  const own = container.createChildContainer();
  const lifecycle = new Lifecycle();
  const values: Partial<Services> = { ...overrides, ...given };
  for (const name of Object.keys(services) as ServiceName[]) {
    const registration = services[name] as Registration<unknown>;
    const make = () => values[name] ?? registration.make(dependenciesOf(own, registration));
    own.register(tokens[name], { useFactory: () => lifecycle.made(name, registration, make) });
  }
  own.register(LIFECYCLE, { useValue: lifecycle });
  return own;
};

const checkNames = (overrides: Overrides): void => {
  const faults = Object.keys(overrides)
    .filter((name) => !(name in services) || name === 'config' || name === 'modules')
    .map((name) => {
      const guess = nearest(name, Object.keys(services));
      return `overrides.${name}: no service has this name${guess ? `; did you mean "${guess}"?` : ''}`;
    });
  if (faults.length > 0) throw new OperatorError('The application cannot be put together:', faults);
};

/** What a registration says that it needs, and nothing else: so the graph of needs is the graph of uses. */
const dependenciesOf = (from: DependencyContainer, { needs }: Registration<unknown>): Services =>
  Object.fromEntries(needs.map((name) => [name, resolve(from, name)])) as unknown as Services;

/**
 * Opens every service that was made, after the services that it needs. Rejects with the first failure; the caller
 * closes.
 */
export const open = (from: DependencyContainer): Promise<void> => from.resolve<Lifecycle>(LIFECYCLE).open();

/** Closes what has been made, the last first, also where one of them fails; rejects with the first failure then. */
export const close = (from: DependencyContainer): Promise<void> => from.resolve<Lifecycle>(LIFECYCLE).close();

interface Made {
  readonly registration: Registration<unknown>;
  readonly value: unknown;
  opened?: Promise<unknown>;
}

class Lifecycle {
  /** In the order of making. */
  readonly #made = new Map<ServiceName, Made>();
  #closing: Promise<void> | undefined;

  /**
   * The service, made at the first call: tsyringe calls a factory at each resolve, which would open more connections.
   */
  made(name: ServiceName, registration: Registration<unknown>, make: () => unknown): unknown {
    const known = this.#made.get(name);
    if (known) return known.value;
    const value = make();
    this.#made.set(name, { registration, value });
    return value;
  }

  async open(): Promise<void> {
    const opened = await Promise.allSettled([...this.#made.keys()].map((name) => this.#open(name)));
    const failure = opened.find(({ status }) => status === 'rejected');
    if (failure) throw (failure as PromiseRejectedResult).reason;
  }

  #open(name: ServiceName): Promise<unknown> {
    const made = this.#made.get(name);
    // What a replaced service would have needed may never have been made.
    if (!made) return Promise.resolve();
    const { registration, value } = made;
    made.opened ??= Promise.all(registration.needs.map((need) => this.#open(need))).then(() =>
      value === null ? undefined : registration.open?.(value),
    );
    return made.opened;
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    const failures: unknown[] = [];
    for (const { registration, value } of [...this.#made.values()].reverse()) {
      try {
        if (value !== null) await registration.close?.(value);
      } catch (error) {
        failures.push(error);
      }
    }
    if (failures.length > 0) throw failures[0];
  }
}
