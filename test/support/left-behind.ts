/** Everything that a running service leaves outside of its memory: logs, metrics, Redis, MongoDB, files. */
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { BSON, MongoClient } from 'mongodb';
import type { Replicas } from './replicas.js';
import type { Place } from './secret-forms.js';
import type { Server } from './services.js';

/** Each key of a Redis with its value, and what the server remembers of slow commands and of connections. */
const redisPlaces = async (url: string): Promise<Place[]> => {
  const redis = new Redis(url);
  try {
    const keys = await redis.keys('*');
    const values = await Promise.all(
      keys.map(async (key): Promise<Place> => {
        const type = await redis.type(key);
        const read: Record<string, () => Promise<unknown>> = {
          none: async () => null,
          string: () => redis.get(key),
          list: () => redis.lrange(key, 0, -1),
          hash: () => redis.hgetall(key),
        };
        const value = await (read[type] as () => Promise<unknown>)();
        return { name: `Redis, ${key}`, text: `${key} ${JSON.stringify(value)}` };
      }),
    );
    const kept = await Promise.all([
      redis.call('SLOWLOG', 'GET', '-1'),
      redis.client('LIST'),
      redis.info('everything'),
    ]);
    return [...values, { name: 'Redis, what it keeps of its clients', text: JSON.stringify(kept) }];
  } finally {
    redis.disconnect();
  }
};

/** Where the hashes of keys belong. */
const KEYS = 'dataset.api_keys';
/** MongoDB's own records of how documents got there: of all changes, and of those that may have to be answered again. */
const OPLOG = 'local.oplog.rs';
const IMAGES = 'config.image_collection';

const keepsHashes = (collection: string, { ns }: { readonly [name: string]: unknown }): boolean =>
  collection === KEYS || collection === IMAGES || (collection === OPLOG && ns === KEYS);

/** Each document of every collection of every database, those of the server itself too. */
const mongoPlaces = async (url: string): Promise<Place[]> => {
  const client = new MongoClient(url);
  try {
    const { databases } = await client.db('admin').admin().listDatabases();
    const places: Place[] = [];
    for (const { name } of databases) {
      for (const collection of await client.db(name).listCollections({ type: 'collection' }).toArray()) {
        const place = `${name}.${collection.name}`;
        const texts = { with: '', without: '' };
        for await (const document of client.db(name).collection(collection.name).find()) {
          texts[keepsHashes(place, document) ? 'with' : 'without'] += `${BSON.EJSON.stringify(document)}\n`;
        }
        places.push({ name: `MongoDB, ${place}`, text: texts.without });
        places.push({ name: `MongoDB, ${place}, of keys`, text: texts.with, keepsHashes: true });
      }
    }
    return places;
  } finally {
    await client.close();
  }
};

const LOGS = ['log', 'stderr'];

/** Each file in a server's folder; of MongoDB its logs alone, since what its data files hold has been read as documents. */
const filePlaces = ({ folder }: Server, isMongo: boolean): Place[] =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => !isMongo || LOGS.includes(name))
    .map((name) => join(folder, name))
    .filter((path) => statSync(path, { throwIfNoEntry: false })?.isFile())
    // MongoDB tells of slow commands whole, and some write hashes.
    .map((path) => ({ name: path, text: `${path} ${readFileSync(path, 'latin1')}`, keepsHashes: isMongo }));

/**
 * All of it, of replicas and what they stand on; the replicas should have written their logs out.
 * @param metrics of each replica, as text
 */
export const leftBehind = async (
  { redis, mongo, nginx, replicas }: Replicas,
  metrics: readonly string[],
): Promise<readonly Place[]> => [
  ...(await redisPlaces(redis.url)),
  ...(await mongoPlaces(mongo.url)),
  ...[redis, mongo, nginx, ...replicas].flatMap((server) => filePlaces(server, server === mongo)),
  ...metrics.map((text, i) => ({ name: `the metrics of replica ${i}`, text })),
];
