/** What each of several replicas is asked for itself: which keys it knows, and which version it serves. */
import { setTimeout as delay } from 'node:timers/promises';
import { MongoClient } from 'mongodb';
import { type Answer, LoadClient } from './load-client.js';
import type { Replicas } from './replicas.js';

const EVERY_MS = 10;
const GIVE_UP_MS = 30_000;

/** Asks one replica until its answer is as wanted; resolves with that answer, which counts against the key's limit. */
const askUntil = async (url: string, key: string, wanted: (answer: Answer) => boolean): Promise<Answer> => {
  const client = new LoadClient(url, key, 1);
  try {
    for (const deadline = performance.now() + GIVE_UP_MS; ; ) {
      const answer = await client.get('/markets');
      if (wanted(answer)) return answer;
      if (performance.now() > deadline) throw new Error(`${url} still answers ${answer.status}: ${answer.body}`);
      await delay(EVERY_MS);
    }
  } finally {
    client.close();
  }
};

/** Asks every replica until its answer is as wanted; resolves with these answers, one each. */
export const everyReplica = ({ replicas }: Replicas, key: string, wanted: (answer: Answer) => boolean) =>
  Promise.all(replicas.map(({ url }) => askUntil(url, key, wanted)));

/** Resolves when every replica knows a new key, with its first request to each. */
export const untilKnown = (service: Replicas, key: string): Promise<Answer[]> =>
  everyReplica(service, key, ({ status }) => status === 200);

/** Resolves with how long after the pointer's move the last replica began to serve `version`, in milliseconds. */
export const follow = async (service: Replicas, key: string, version: string): Promise<number> => {
  const client = new MongoClient(service.mongo.url);
  const moved = (async () => {
    for (;;) {
      const catalog = await client
        .db('dataset')
        .collection<{ _id: string; current: { version: string } | null }>('catalog')
        .findOne({ _id: 'catalog' });
      // Taken after the read: so it is never before the move, and at most one look after it.
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
