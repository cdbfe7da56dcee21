import { basename } from 'node:path';
import { MongoClient } from 'mongodb';
import { describeAdapter } from '../../adapters/conformance/index.js';
import mongo from '../../adapters/mongo/index.js';
import type { AdapterContext, StorageAdapter } from '../../core/contracts/storage.js';
import { type Server, startMongo } from '../support/services.js';
import { untilAway } from './mongo-replica.js';

/** Passes the URI to the second process of the conformance suite, which imports this file too. */
const URL_VARIABLE = 'CONFORMANCE_MONGODB_URI';

// The suite stops this server, so it cannot be the shared server.
let started: Promise<Server> | undefined;
const server = (): Promise<Server> => {
  started ??= startMongo();
  return started;
};
const urlOfServer = async (): Promise<string> => {
  process.env[URL_VARIABLE] ??= (await server()).url;
  return process.env[URL_VARIABLE];
};
const databases = new WeakMap<StorageAdapter, string>();

const create = async (context: AdapterContext): Promise<StorageAdapter> => {
  // Each store has its own folder, so the folder name is also a unique database name.
  const database = basename(context.resolvePath('.'));
  const options = { uri: await urlOfServer(), database, lockMs: 2000, holdMs: 15_000, waitQueueMs: 10_000 };
  const adapter = mongo.create(options, context);
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
  delete process.env[URL_VARIABLE];
});
