import { isDeepStrictEqual } from 'node:util';
import type { Workers } from '../core/app/workers.js';
import type { Config } from '../core/config/schema.js';
import type { Logger } from '../core/contracts/runtime.js';
import { OperatorError } from '../core/errors.js';
import { type MetricsServer, serveMetrics } from '../core/observe/metrics-server.js';
import { type ListenError, listenError } from './listen-error.js';

type Addresses = Pick<Config, 'server' | 'metrics'>;

/** Serves the metrics of all workers from the primary process, because each worker knows only about its own requests. */
export class WorkerMetrics {
  readonly #workers: Workers;
  readonly #logger: Logger;
  #server: MetricsServer | null = null;

  constructor(workers: Workers, logger: Logger) {
    this.#workers = workers;
    this.#logger = logger;
  }

  async listen(config: Addresses): Promise<void> {
    try {
      this.#server = config.metrics && (await serveMetrics(config.metrics, () => this.#workers.metrics()));
    } catch (error) {
      throw listenError(error as ListenError, config);
    }
    if (this.#server) this.#logger.info({ metricsUrl: this.#server.url }, 'listening for metrics of all workers');
  }

  async close(): Promise<void> {
    await this.#server?.close();
    this.#server = null;
  }

  /**
   * Moves the server if its address has changed, and then replaces the workers. If either fails, the server returns to
   * its previous address and port.
   * @throws the error of the failed step
   */
  async reload(before: Addresses, after: Addresses, replaceWorkers: () => Promise<void>): Promise<void> {
    if (isDeepStrictEqual(before.metrics, after.metrics)) return replaceWorkers();
    const metrics = this.#server && before.metrics && { ...before.metrics, port: this.#server.port };
    // The new workers or the new server might need the port of the old server.
    await this.close();
    try {
      await this.#listenAgain(after);
      await replaceWorkers();
    } catch (error) {
      await this.close();
      await this.listen({ ...before, metrics }).catch((err: unknown) => {
        this.#logger.error({ err }, 'the metrics server could not return to its previous port');
      });
      throw error;
    }
  }

  async #listenAgain(config: Addresses): Promise<void> {
    try {
      await this.listen(config);
    } catch (error) {
      const { code } = ((error as Error).cause ?? {}) as ListenError;
      if (code !== 'EADDRINUSE' || config.metrics?.port !== this.#workers.port) throw error;
      throw new OperatorError(
        `metrics.port: ${config.metrics.port} is the port of the running workers. To use it for metrics, restart the service.`,
      );
    }
  }
}
