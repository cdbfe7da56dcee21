/** Limits the time of all calls to an adapter, so that the suite continues after a call that never settles. */
import assert from 'node:assert/strict';
import type { StorageAdapter } from 'metro-forecast-api/adapter';
import type { AdapterUnderTest } from './adapter-under-test.js';
import { limitOf, slowness } from './expect.js';

/** Time limits of calls on an idle machine, in milliseconds. */
const CALL_MS = 10_000;
const PUBLISH_MS = 30_000;
/**
 * Minimum time limit of a method, in milliseconds. Each call that does not settle divides the limit of its method by 4.
 */
const LEAST_MS = 100;
/** Maximum factor by which the time limits grow on a slow machine. */
const MOST_SLOWNESS = 4;
/** The lock of a killed process must expire within this time, in milliseconds. */
export const LOCK_MS = 50_000;
/** More documents than any collection of the suite has. */
const TOO_MANY = 300_000;

let extraMs = 0;

/**
 * Adds `LOCK_MS` to all time limits while `work` runs. Calls need this time if they wait for an unreachable backend or
 * a lock.
 */
export const patiently = async <T>(work: () => Promise<T>): Promise<T> => {
  extraMs = LOCK_MS;
  try {
    return await work();
  } finally {
    extraMs = 0;
  }
};

/** Members of the adapter whose methods also have a time limit. */
const PARTS: readonly PropertyKey[] = ['versions', 'audit', 'history'];
/** The methods that return no promise. */
const SYNCHRONOUS: readonly PropertyKey[] = ['snapshot', 'release', 'find', 'findJson'];

const isObject = (value: unknown): value is object => typeof value === 'object' && value !== null;
const has = (value: unknown, method: PropertyKey): value is object =>
  isObject(value) && typeof Reflect.get(value, method) === 'function';

class Limiter {
  /** The time limit of each method, in milliseconds. */
  readonly #limits = new Map<string, number>();

  /** Calls a function that returns a promise, and fails if the promise does not settle in time. */
  async call<T>(what: string, call: () => T): Promise<Awaited<T>> {
    const result = call();
    assert(has(result, 'then'), `expected ${what} to return a promise`);
    const usual = what === 'publish()' || what === 'create()' ? PUBLISH_MS : CALL_MS;
    const limit = this.#limits.get(what) ?? limitOf(usual);
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<never>((_, reject) => {
      const expire = (ms: number) => {
        const allowed = (limit + limitOf(extraMs)) * Math.min(MOST_SLOWNESS, slowness());
        if (ms < allowed) {
          timer = setTimeout(expire, allowed - ms, allowed);
          return;
        }
        this.#limits.set(what, Math.max(LEAST_MS, limit / 4));
        const message = `expected ${what} to resolve or reject within ${limit + limitOf(extraMs)} ms`;
        reject(new assert.AssertionError({ message }));
      };
      timer = setTimeout(expire, limit, limit);
    });
    try {
      return await Promise.race([result as Awaited<T>, late]);
    } finally {
      clearTimeout(timer);
    }
  }

  /** Returns an object with the same members, whose methods have time limits. */
  methods<T extends object>(object: T, prefix = ''): T {
    return new Proxy(Object.create(object), {
      get: (_, name) => {
        const value: unknown = Reflect.get(object, name);
        if (PARTS.includes(name) && isObject(value)) return this.methods(value, `${String(name)}.`);
        if (typeof value !== 'function') return value;
        const what = `${prefix}${String(name)}()`;
        return (...given: unknown[]) => {
          const result: unknown = value.apply(object, given);
          return SYNCHRONOUS.includes(name) ? this.#limited(what, result) : this.#result(what, result);
        };
      },
    });
  }

  async #result(what: string, result: unknown): Promise<unknown> {
    return this.#limited(what, await this.call(what, () => result));
  }

  #limited(what: string, result: unknown): unknown {
    if (has(result, Symbol.asyncIterator)) return this.#stream(what, result as AsyncIterable<unknown>);
    return has(result, 'release') ? this.methods(result) : result;
  }

  #stream(what: string, batches: AsyncIterable<unknown>): AsyncIterable<unknown> {
    return {
      [Symbol.asyncIterator]: () => {
        const iterator = batches[Symbol.asyncIterator]();
        let count = 0;
        return {
          next: async () => {
            const batch = await this.call(`next() of ${what}`, () => iterator.next());
            count += 1 + (Array.isArray(batch.value) ? batch.value.length : 0);
            assert(count < TOO_MANY, `expected ${what} to end, but it has yielded more documents than the store has`);
            return batch;
          },
          ...(iterator.return && { return: () => this.call(`return() of ${what}`, () => iterator.return!()) }),
        };
      },
    };
  }
}

const originals = new WeakMap<StorageAdapter, StorageAdapter>();

/** Returns the adapter without time limits. */
export const unlimited = (adapter: StorageAdapter): StorageAdapter => originals.get(adapter) ?? adapter;

export const withTimeLimits = (target: AdapterUnderTest): AdapterUnderTest => {
  const limiter = new Limiter();
  const limited = (adapter: StorageAdapter): StorageAdapter => {
    const outer = limiter.methods(adapter);
    originals.set(outer, adapter);
    return outer;
  };
  const { createEmpty, replace, breakBackend, repairBackend, damage, cleanup } = target;
  return {
    ...target,
    create: async (...given) => limited(await limiter.call('create()', () => target.create(...given))),
    ...(createEmpty && { createEmpty: async (context) => limited(await createEmpty.call(target, context)) }),
    ...(replace && { replace: (adapter, dataset) => replace.call(target, unlimited(adapter), dataset) }),
    ...(breakBackend && { breakBackend: (adapter) => breakBackend.call(target, unlimited(adapter)) }),
    ...(repairBackend && { repairBackend: (adapter) => repairBackend.call(target, unlimited(adapter)) }),
    ...(damage && { damage: (adapter) => damage.call(target, unlimited(adapter)) }),
    ...(cleanup && { cleanup: (adapter) => cleanup.call(target, unlimited(adapter)) }),
  };
};
