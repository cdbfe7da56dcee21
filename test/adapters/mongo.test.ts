/** Proves that the MongoDB adapter conforms. */
import { MongoClient } from 'mongodb';
import mongo from '../../adapters/mongo/index.js';
import { describeAdapter } from '../../conformance/index.js';
import type { AdapterContext, StorageAdapter } from '../../core/contracts/storage.js';
import { type Server, startMongo, uniqueName } from '../support/services.js';
import { untilAway } from './mongo-replica.js';

// One of its own, since the suite takes it away.
let started: Promise<Server> | undefined;
const server = (): Promise<Server> => {
  started ??= startMongo();
  return started;
};
const databases = new WeakMap<StorageAdapter, string>();

const create = async (context: AdapterContext): Promise<StorageAdapter> => {
  const database = uniqueName('conformance');
  const adapter = mongo.create({ uri: (await server()).url, database }, context);
  databases.set(adapter, database);
  return adapter;
};

describeAdapter({
  name: mongo.name,
  capabilities: mongo.capabilities,
  async create(dataset, context) {
    const adapter = await create(context);
    await adapter.open();
    await adapter.publish!(dataset);
    return adapter;
  },
  createEmpty: create,
  async breakBackend(adapter) {
    (await server()).freeze();
    await untilAway(adapter);
  },
  repairBackend: async () => (await server()).resume(),
  async cleanup(adapter) {
    const client = new MongoClient((await server()).url);
    await client.db(databases.get(adapter)).dropDatabase();
    await client.close();
  },
});

after(async () => {
  await (await started)?.stop();
  started = undefined;
});
