import type Koa from 'koa';
import type { Context } from 'koa';
import type { OpenContext } from '../contracts/plugin.js';
import { OperatorError } from '../errors.js';
import type { RegisteredLifecycle } from '../registry/register-plugins.js';

export class RunningPlugins {
  readonly #lifecycles: readonly RegisteredLifecycle[];
  readonly #contextOf: (plugin: string) => OpenContext;
  readonly #opened: RegisteredLifecycle[] = [];

  constructor(lifecycles: readonly RegisteredLifecycle[], contextOf: (plugin: string) => OpenContext, koa: Koa) {
    this.#lifecycles = lifecycles;
    this.#contextOf = contextOf;
    if (lifecycles.length > 0) koa.on('error', (error: unknown, ctx: Context) => this.#report(error, ctx));
  }

  async open(): Promise<void> {
    for (const each of this.#lifecycles) {
      try {
        await each.open(this.#contextOf(each.plugin));
        this.#opened.push(each);
      } catch (cause) {
        const reason = cause instanceof Error ? cause.message : String(cause);
        throw new OperatorError(`Plugin "${each.plugin}" cannot be opened: ${reason}`, [], { cause });
      }
    }
  }

  async close(): Promise<void> {
    for (const each of this.#opened.splice(0).reverse()) {
      await this.#run(each.plugin, 'a plugin did not close cleanly', () => each.close());
    }
  }

  #report(error: unknown, ctx: Context): void {
    for (const { plugin, onError } of this.#lifecycles) {
      void this.#run(plugin, 'a plugin failed to report an error', () => onError(error, ctx));
    }
  }

  async #run(plugin: string, problem: string, work: () => unknown): Promise<void> {
    try {
      await work();
    } catch (err) {
      this.#contextOf(plugin).logger.warn({ err }, problem);
    }
  }
}
