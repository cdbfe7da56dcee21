/** What Redis keeps of the shared limiter, read as `core/limiter/decide.lua` writes it. */
import type { Cluster, Redis } from 'ioredis';
import { shardKeys, shardOf } from '../../core/limiter/shard.js';

const BUCKET = 9;
const TAIL = 11;
const NUMBERS = 256;
/** How long a bucket of a window of a minute is, in microseconds. */
const LENGTH = 1_000_000;

export interface Bucket {
  /** Microseconds of Redis's clock. */
  readonly end: number;
  readonly replica: number;
  readonly count: number;
}

/** The buckets of a subject's field, oldest first: those too that have left the window since somebody asked. */
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

/** The field of a subject with these buckets, oldest first. */
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

/** The key that a subject is in. */
export const keyOf = (keyPrefix: string, subject: string, isCluster: boolean): string => {
  const keys = shardKeys(keyPrefix, isCluster);
  return keys[shardOf(subject, keys.length)] as string;
};

/** The buckets of a subject. */
export const readWindow = async (redis: Redis | Cluster, prefix: string, subject: string): Promise<Bucket[]> => {
  const field = await redis.hgetBuffer(keyOf(prefix, subject, redis.isCluster), subject);
  return field ? bucketsOf(field) : [];
};

/** How many requests of a subject Redis has counted, as of the last call that changed its window. */
export const countedIn = async (redis: Redis | Cluster, prefix: string, subject: string): Promise<number> =>
  (await readWindow(redis, prefix, subject)).reduce((sum, { count }) => sum + count, 0);
