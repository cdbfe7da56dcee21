/** A Lua script of the package: sent by its digest, and whole where the server does not know it. */
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { packageRoot } from './package-root.js';
import type { RedisClient } from './redis.js';

export class RedisScript {
  readonly #source: string;
  readonly #digest: string;

  /** @param file relative to the package's root */
  constructor(file: string) {
    this.#source = readFileSync(join(packageRoot, file), 'utf8');
    this.#digest = createHash('sha1').update(this.#source).digest('hex');
  }

  /** Runs it once over one key. A server that has forgotten the script has not run any of it, so it is sent again. */
  async run<Reply>(redis: RedisClient, key: string, args: readonly (string | number)[]): Promise<Reply> {
    try {
      return (await redis.evalsha(this.#digest, 1, key, ...args)) as Reply;
    } catch (error) {
      if (!(error instanceof Error && error.message.startsWith('NOSCRIPT'))) throw error;
      return (await redis.eval(this.#source, 1, key, ...args)) as Reply;
    }
  }
}
