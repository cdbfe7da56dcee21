import type Koa from 'koa';
import type { Context } from 'koa';
import type { OpenContext } from '../contracts/plugin.js';
import { OperatorError } from '../errors.js';
import type { LoadedPlugin } from '../registry/register-plugins.js';

export class RunningPlugins {
  readonly #plugins: readonly LoadedPlugin[];
  readonly #contextOf: (plugin: string) => OpenContext;
  readonly #opened: LoadedPlugin[] = [];

  constructor(plugins: readonly LoadedPlugin[], contextOf: (plugin: string) => OpenContext, koa: Koa) {
    this.#plugins = plugins;
    this.#contextOf = contextOf;
    koa.on('error', (error: unknown, ctx: Context) => this.#report(error, ctx));
  }

  async open(): Promise<void> {
    for (const loaded of this.#plugins) {
      const { plugin, options } = loaded;
      try {
        await plugin.open?.(options, this.#contextOf(plugin.name));
        this.#opened.push(loaded);
      } catch (cause) {
        const reason = cause instanceof Error ? cause.message : String(cause);
        throw new OperatorError(`Plugin "${plugin.name}" cannot be opened: ${reason}`, [], { cause });
      }
    }
  }

  async close(): Promise<void> {
    for (const { plugin, options } of this.#opened.splice(0).reverse()) {
      await this.#run(plugin.name, 'a plugin did not close cleanly', () => plugin.close?.(options));
    }
  }

  #report(error: unknown, ctx: Context): void {
    for (const { plugin, options } of this.#plugins) {
      void this.#run(plugin.name, 'a plugin failed to report an error', () => plugin.onError?.(error, ctx, options));
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
