import { setTimeout as delay } from 'node:timers/promises';
import { MongoClient } from 'mongodb';
import { request } from './http-client.js';
import { type Answer, LoadClient } from './load-client.js';
import type { Replicas } from './replicas.js';
import { freePort } from './server-process.js';

const EVERY_MS = 10;
const GIVE_UP_MS = 30_000;

/** Repeats a request to one replica until the response matches. Each request counts against the limit of the key. */
const requestUntil = async (url: string, key: string, wanted: (answer: Answer) => boolean): Promise<Answer> => {
  const client = new LoadClient(url, key, 1);
  try {
    for (const deadline = performance.now() + GIVE_UP_MS; ; ) {
      const answer = await client.get('/markets');
      if (wanted(answer)) return answer;
      if (performance.now() > deadline) throw new Error(`${url} still responds with ${answer.status}: ${answer.body}`);
      await delay(EVERY_MS);
    }
  } finally {
    client.close();
  }
};

export const everyReplica = ({ replicas }: Replicas, key: string, wanted: (answer: Answer) => boolean) =>
  Promise.all(replicas.map(({ url }) => requestUntil(url, key, wanted)));

/** Resolves when every replica knows a new key. The key has then used at least one request on each replica. */
export const untilKnown = (service: Replicas, key: string): Promise<Answer[]> =>
  everyReplica(service, key, ({ status }) => status === 200);

/** Resolves with the time in milliseconds from the activation of `version` until the last replica served it. */
export const follow = async (service: Replicas, key: string, version: string): Promise<number> => {
  const client = new MongoClient(service.mongo.url);
  const moved = (async () => {
    for (;;) {
      const catalog = await client
        .db('dataset')
        .collection<{ _id: string; current: { version: string } | null }>('catalog')
        .findOne({ _id: 'catalog' });
      // The returned time can be up to one polling interval later than the activation.
      if (catalog?.current?.version === version) return performance.now();
      await delay(EVERY_MS / 2);
    }
  })();
  try {
    const answers = await everyReplica(service, key, ({ headers }) => headers['snapshot-version'] === version);
    const last = Math.max(...answers.map(({ received }) => received));
    return Math.max(0, Math.round(last - (await moved)));
  } finally {
    await client.close();
  }
};

export const metricsPorts = (count: number): Promise<readonly number[]> =>
  Promise.all(Array.from({ length: count }, freePort));

const PARTS = { redis: ['limiter', 'cache'], mongo: ['storage', 'keys'] } as const;

/**
 * Resolves with the time in milliseconds until every replica reports the components of a store as up and can read
 * uncached data from MongoDB.
 * @param metrics metrics ports of the replicas
 * @param unread returns a new uncached path on each call
 */
export const untilHealthy = async (
  { replicas }: Replicas,
  store: keyof typeof PARTS,
  { key, metrics, unread }: { readonly key: string; readonly metrics: readonly number[]; unread(): string },
): Promise<number> => {
  const since = performance.now();
  await Promise.all(
    replicas.map(async ({ url }, index) => {
      for (let down = ''; ; await delay(EVERY_MS)) {
        const { text } = await request(`http://127.0.0.1:${metrics[index]}/metrics`);
        down = PARTS[store].filter((part) => !text.includes(`part_up{part="${part}"} 1\n`)).join();
        if (down === '') break;
        if (performance.now() - since > GIVE_UP_MS) throw new Error(`${url} still reports as down: ${down}.`);
      }
      const client = new LoadClient(url, key, 1);
      for (let status = store === 'mongo' ? 0 : 200; status !== 200; ) {
        ({ status } = await client.get(unread()));
        if (performance.now() - since > GIVE_UP_MS) throw new Error(`${url} still responds with ${status}.`);
      }
      client.close();
    }),
  );
  return Math.round(performance.now() - since);
};
