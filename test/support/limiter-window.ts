import type { Cluster, Redis } from 'ioredis';
import { partitionKeys, partitionOf } from '../../core/limiter/redis-limiter.js';

const BUCKET = 9;
const TAIL = 11;
const NUMBERS = 256;
/** Length of a bucket in microseconds, for a window of 60 seconds. */
const LENGTH = 1_000_000;

export interface Bucket {
  /** End of the bucket, in microseconds on the clock of Redis. */
  readonly end: number;
  readonly replica: number;
  readonly count: number;
}

/** Decodes the hash field of a caller. Includes expired buckets that have not been removed yet. */
export const bucketsOf = (field: Buffer): Bucket[] => {
  const tail = field.length - TAIL;
  const newest = Number(field.readBigUInt64BE(tail) >> 8n) / LENGTH;
  const buckets: Bucket[] = [];
  for (let at = tail - BUCKET; at >= 0; at -= BUCKET) {
    const age = ((newest % NUMBERS) - field.readUInt8(at) + NUMBERS) % NUMBERS;
    const end = (newest - age) * LENGTH;
    buckets.push({ end, replica: field.readUInt32BE(at + 1), count: field.readUInt32BE(at + 5) });
  }
  return buckets;
};

export const fieldOf = (buckets: readonly Bucket[]): Buffer => {
  const tail = BUCKET * buckets.length;
  const field = Buffer.alloc(tail + TAIL);
  for (const [i, { end, replica, count }] of buckets.toReversed().entries()) {
    field.writeUInt8((end / LENGTH) % NUMBERS, BUCKET * i);
    field.writeUInt32BE(replica, BUCKET * i + 1);
    field.writeUInt32BE(count, BUCKET * i + 5);
  }
  const sum = buckets.reduce((total, { count }) => total + count, 0);
  field.writeBigUInt64BE(BigInt(buckets.at(-1)?.end ?? 0) << 8n, tail);
  field.writeUInt32BE(sum, tail + 7);
  return field;
};

export const keyOf = (keyPrefix: string, caller: string, isCluster: boolean): string => {
  const keys = partitionKeys(keyPrefix, isCluster);
  return keys[partitionOf(caller, keys.length)] as string;
};

export const readWindow = async (redis: Redis | Cluster, prefix: string, caller: string): Promise<Bucket[]> => {
  const field = await redis.hgetBuffer(keyOf(prefix, caller, redis.isCluster), caller);
  return field ? bucketsOf(field) : [];
};

/** Number of permits in the window of a caller, as stored by the last call that changed the window. */
export const countedIn = async (redis: Redis | Cluster, prefix: string, caller: string): Promise<number> =>
  (await readWindow(redis, prefix, caller)).reduce((sum, { count }) => sum + count, 0);
