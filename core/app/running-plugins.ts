import type Koa from 'koa';
import type { Context } from 'koa';
import type { OpenContext } from '../contracts/plugin.js';
import { OperatorError } from '../errors.js';
import type { LoadedPlugin } from '../registry/register-plugins.js';

interface RunningPlugin extends LoadedPlugin {
  readonly context: OpenContext;
}

export class RunningPlugins {
  readonly #plugins: readonly RunningPlugin[];
  readonly #opened: RunningPlugin[] = [];

  constructor(plugins: readonly LoadedPlugin[], contextOf: (plugin: string) => OpenContext, koa: Koa) {
    this.#plugins = plugins.map((loaded) => ({ ...loaded, context: contextOf(loaded.plugin.name) }));
    koa.on('error', (error: unknown, ctx: Context) => this.#report(error, ctx));
  }

  async open(): Promise<void> {
    for (const loaded of this.#plugins) {
      const { plugin, options, context } = loaded;
      try {
        await plugin.open?.(options, context);
        this.#opened.push(loaded);
      } catch (cause) {
        const reason = cause instanceof Error ? cause.message : String(cause);
        throw new OperatorError(`Plugin "${plugin.name}" cannot be opened: ${reason}`, [], { cause });
      }
    }
  }

  async close(): Promise<void> {
    for (const { plugin, options, context } of this.#opened.splice(0).reverse()) {
      await this.#run(context, 'a plugin did not close cleanly', () => plugin.close?.(options));
    }
  }

  #report(error: unknown, ctx: Context): void {
    for (const { plugin, options, context } of this.#plugins) {
      void this.#run(context, 'a plugin failed to report an error', () => plugin.onError?.(error, ctx, options));
    }
  }

  async #run({ logger }: OpenContext, problem: string, work: () => unknown): Promise<void> {
    try {
      await work();
    } catch (err) {
      logger.warn({ err }, problem);
    }
  }
}
