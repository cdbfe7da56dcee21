/**
 * Creates each part of an application when it is first needed. A part is opened after its dependencies, and closed
 * before them.
 */
import 'reflect-metadata';
import { container, type DependencyContainer, instanceCachingFactory } from 'tsyringe';
import { OperatorError } from '../errors.js';
import { checkedLimiter } from '../limiter/check-decision.js';
import { type Members, memberErrors } from '../registry/check-members.js';
import { isObject } from '../validation/json.js';
import { nearest } from '../validation/nearest.js';
import type { Overrides } from './app-types.js';
import type { Definition, PartName, Parts } from './part-types.js';
import { parts } from './parts.js';

const tokens = Object.fromEntries(Object.keys(parts).map((name) => [name, Symbol(name)])) as {
  readonly [Name in PartName]: symbol;
};

export const resolve = <Name extends PartName>(from: DependencyContainer, name: Name): Parts[Name] =>
  from.resolve<Parts[Name]>(tokens[name]);

const LIFECYCLE = Symbol('lifecycle');

/** @throws OperatorError if an override has an unknown name or lacks a required member */
export const createContainer = (
  given: Pick<Parts, 'config' | 'modules'>,
  overrides: Overrides = {},
): DependencyContainer => {
  checkOverrides(overrides);
  const own = container.createChildContainer();
  const lifecycle = new Lifecycle();
  const { limiter } = overrides;
  const values: Partial<Parts> = { ...overrides, ...(limiter && { limiter: checkedLimiter(limiter) }), ...given };
  for (const name of Object.keys(parts) as PartName[]) {
    const definition = parts[name] as Definition<unknown>;
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

/** Passes only the declared dependencies, so that a definition cannot use a part without declaring it. */
const dependencies = (from: DependencyContainer, { needs }: Definition<unknown>): Parts =>
  Object.fromEntries(needs.map((name) => [name, resolve(from, name)])) as unknown as Parts;

const MEMBERS: { readonly [Name in keyof Overrides]-?: Members } = {
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
  if (errors.length > 0) throw new OperatorError('The application overrides are invalid:', errors);
};

const overrideErrors = (name: string, value: unknown): readonly string[] => {
  if (!Object.hasOwn(MEMBERS, name)) {
    const guess = nearest(name, Object.keys(MEMBERS));
    return [`it cannot be replaced${guess ? `; did you mean "${guess}"?` : ''}`];
  }
  if (value === undefined) return [];
  if (!isObject(value) && typeof value !== 'function') return ['it must be an object'];
  return memberErrors(value as Readonly<Record<string, unknown>>, MEMBERS[name as keyof Overrides]);
};

export const open = (from: DependencyContainer): Promise<void> => from.resolve<Lifecycle>(LIFECYCLE).open();

export const close = (from: DependencyContainer): Promise<void> => from.resolve<Lifecycle>(LIFECYCLE).close();

interface Made {
  readonly definition: Definition<unknown>;
  readonly value: object;
  opened?: Promise<unknown>;
}

class Lifecycle {
  readonly #made = new Map<PartName, Made>();
  #closed: Promise<void> | undefined;

  add(name: PartName, definition: Definition<unknown>, value: unknown): void {
    if (value !== null) this.#made.set(name, { definition, value: value as object });
  }

  async open(): Promise<void> {
    const results = await Promise.allSettled([...this.#made.keys()].map((name) => this.#open(name)));
    for (const result of results) if (result.status === 'rejected') throw result.reason;
  }

  /** Opens a part after its dependencies. Independent parts open concurrently. */
  async #open(name: PartName): Promise<void> {
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
