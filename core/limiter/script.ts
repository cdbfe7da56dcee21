/** Builds the text of the Lua script, and names the Redis hashes that it uses. Requires Redis 5.0 or later. */
import { RedisScript, readScript } from '../redis/circuit-breaker.js';
import { DAY_MS, KEPT_DAYS } from './quotas.js';

/** The number of buckets per window. All permits of a bucket expire together, up to one bucket length late. */
export const BUCKETS = 60;

const bucketLength = (windowMs: number): number => Math.ceil((windowMs * 1000) / BUCKETS);

export class DecideScript extends RedisScript {
  readonly bucketMicros: number;

  constructor(
    source: string,
    readonly windowMs: number,
  ) {
    super(source);
    this.bucketMicros = bucketLength(windowMs);
  }
}

interface ScriptOptions {
  readonly windowMs: number;
  /** A partition remembers at least this many recent addresses, and at most twice as many plus one batch. */
  readonly mostAddresses: number;
  readonly countsUsage: boolean;
}

/** The constants are part of the text, so that calls need not send them. */
export const decideScript = ({ windowMs, mostAddresses, countsUsage }: ScriptOptions): DecideScript => {
  const window = windowMs * 1000;
  const bucket = bucketLength(windowMs);
  const constants = {
    WINDOW: window,
    BUCKET: bucket,
    COUNTS_USAGE: countsUsage,
    DAY: DAY_MS * 1000,
    KEPT: countsUsage ? KEPT_DAYS * DAY_MS * 1000 : window + bucket,
    MOST_ADDRESSES: countsUsage ? 2 * mostAddresses : mostAddresses,
  };
  const source = [
    `local ${Object.keys(constants).join(', ')} = ${Object.values(constants).join(', ')}`,
    readScript('core/limiter/window.lua'),
    // Redis runs the whole script on each call, so the part for quotas is added only if usage is counted.
    ...(countsUsage ? [readScript('core/limiter/quotas.lua')] : []),
    readScript('core/limiter/decide.lua'),
  ];
  return new DecideScript(source.join('\n'), windowMs);
};

/** A partition consists of three hashes: one for API keys, one for recent addresses, and one for earlier addresses. */
export const hashesOf = (key: string): readonly string[] => [key, `${key}:addresses`, `${key}:addresses-before`];
