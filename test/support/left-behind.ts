/**
 * Collects everything that a running service stores or outputs: logs, metrics, files, and the contents of Redis and
 * MongoDB.
 */
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { BSON, MongoClient } from 'mongodb';
import type { Replicas } from './replicas.js';
import type { Place } from './secret-forms.js';
import type { Server } from './services.js';

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
    return [...values, { name: 'Redis, client list', text: JSON.stringify(kept) }];
  } finally {
    redis.disconnect();
  }
};

/** Only this collection can contain hashes of keys. */
const KEYS = 'dataset.api_keys';
/** MongoDB keeps copies of documents in the oplog and in the images for retryable writes. */
const OPLOG = 'local.oplog.rs';
const IMAGES = 'config.image_collection';

const keepsHashes = (collection: string, { ns }: { readonly [name: string]: unknown }): boolean =>
  collection === KEYS || collection === IMAGES || (collection === OPLOG && ns === KEYS);

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

/** Documents of MongoDB are read through the server, so only its log files are read from the folder. */
const filePlaces = ({ folder }: Server, isMongo: boolean): Place[] =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => !isMongo || LOGS.includes(name))
    .map((name) => join(folder, name))
    .filter((path) => statSync(path, { throwIfNoEntry: false })?.isFile())
    // MongoDB logs slow commands in full, including commands that write hashes.
    .map((path) => ({ name: path, text: `${path} ${readFileSync(path, 'latin1')}`, keepsHashes: isMongo }));

export const leftBehind = async (
  { redis, mongo, nginx, replicas }: Replicas,
  metrics: readonly string[],
): Promise<readonly Place[]> => [
  ...(await redisPlaces(redis.url)),
  ...(await mongoPlaces(mongo.url)),
  ...[redis, mongo, nginx, ...replicas].flatMap((server) => filePlaces(server, server === mongo)),
  ...metrics.map((text, i) => ({ name: `the metrics of replica ${i}`, text })),
];
