/**
 * A circuit breaker for calls to Redis. `core/limiter/README.md` explains how requests are limited while Redis is
 * unreachable.
 */
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from '../contracts/runtime.js';
import { packageRoot } from '../util/package.js';
import { withTimeout } from '../util/with-timeout.js';
import type { RedisClient, RedisConnection } from './connection.js';
import { redisProblem } from './problems.js';

export const readScript = (file: string): string => readFileSync(join(packageRoot, file), 'utf8');

/** Calls a Lua script by its SHA-1, and sends the source only if Redis does not have the script yet. */
export class RedisScript {
  readonly #digest: string;

  constructor(readonly source: string) {
    this.#digest = createHash('sha1').update(source).digest('hex');
  }

  /** NOSCRIPT means that Redis did not run the script, so the call can be repeated safely. */
  run<Reply>(redis: RedisClient, keys: readonly string[], args: readonly (string | number | Buffer)[]): Promise<Reply> {
    const rest = [keys.length, ...keys, ...args];
    return (redis.callBuffer('evalsha', this.#digest, ...rest) as Promise<Reply>).catch((error: unknown) => {
      if (!(error instanceof Error && error.message.startsWith('NOSCRIPT'))) throw error;
      return redis.callBuffer('eval', this.source, ...rest) as Promise<Reply>;
    });
  }
}

const PROBE_EVERY_MS = 200;
/** A probe needs a timeout, because a dead connection never replies. */
const PROBE_TIMEOUT_MS = 1000;

interface BreakerOptions {
  readonly name: string;
  readonly redis: Pick<RedisConnection, 'causeOf' | 'timeoutMs'>;
  readonly probe: () => Promise<unknown>;
  readonly onClose?: () => void;
  readonly logger: Logger;
}

/**
 * Opens after one failed call to Redis, and closes when a probe succeeds. Do not call Redis while the breaker is open,
 * because each request would wait for a timeout.
 */
export class CircuitBreaker {
  readonly #options: BreakerOptions;
  readonly #stop = new AbortController();
  #isOpen = false;

  constructor(options: BreakerOptions) {
    this.#options = options;
  }

  get isOpen(): boolean {
    return this.#isOpen;
  }

  open(error: unknown): void {
    if (this.#isOpen || this.#stop.signal.aborted) return;
    this.#isOpen = true;
    const { name, redis, logger } = this.#options;
    const cause = redis.causeOf(error);
    const { reason, advice } = redisProblem(cause);
    logger.warn({ err: cause, advice }, `${name}: ${reason}`);
    void this.#probe();
  }

  dispose(): void {
    this.#stop.abort();
  }

  async #probe(): Promise<void> {
    const since = performance.now();
    while (!this.#stop.signal.aborted) {
      await delay(PROBE_EVERY_MS, undefined, { ref: false });
      const reply = this.#options.probe();
      const inTime = await withTimeout(reply, this.#options.redis.timeoutMs).then(
        () => true,
        () => false,
      );
      if (inTime) break;
      await withTimeout(reply, PROBE_TIMEOUT_MS).catch(() => undefined);
    }
    if (this.#stop.signal.aborted) return;
    this.#isOpen = false;
    const outageMs = Math.round(performance.now() - since);
    this.#options.logger.info({ outageMs }, `${this.#options.name}: Redis is available again`);
    this.#options.onClose?.();
  }
}
