/** What Redis keeps of the shared limiter, read as `core/limiter/decide.lua` writes it. */
import type { Cluster, Redis } from 'ioredis';
import { shardKeys, shardOf } from '../../core/limiter/shard.js';

const HEAD = 11;
const BUCKET = 12;
const WRAP = 2 ** 32;

export interface Bucket {
  /** Microseconds of Redis's clock. */
  readonly end: number;
  readonly replica: number;
  readonly count: number;
}

/** The buckets of a subject's field, oldest first: those too that have left the window since somebody asked. */
export const bucketsOf = (field: Buffer): Bucket[] => {
  const newest = Number(field.readBigUInt64BE(0) >> 8n);
  const buckets: Bucket[] = [];
  for (let at = HEAD; at < field.length; at += BUCKET) {
    const age = ((newest % WRAP) - field.readUInt32BE(at) + WRAP) % WRAP;
    buckets.push({ end: newest - age, replica: field.readUInt32BE(at + 4), count: field.readUInt32BE(at + 8) });
  }
  return buckets;
};

/** The field of a subject with these buckets, oldest first. */
export const fieldOf = (buckets: readonly Bucket[]): Buffer => {
  const field = Buffer.alloc(HEAD + BUCKET * buckets.length);
  field.writeBigUInt64BE(BigInt(buckets.at(-1)?.end ?? 0) << 8n);
  field.writeUInt32BE(
    buckets.reduce((sum, { count }) => sum + count, 0),
    HEAD - 4,
  );
  for (const [i, { end, replica, count }] of buckets.entries()) {
    field.writeUInt32BE(end % WRAP, HEAD + BUCKET * i);
    field.writeUInt32BE(replica, HEAD + BUCKET * i + 4);
    field.writeUInt32BE(count, HEAD + BUCKET * i + 8);
  }
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
