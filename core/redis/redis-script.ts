import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { packageRoot } from '../util/package.js';
import type { RedisClient } from './connection.js';

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
