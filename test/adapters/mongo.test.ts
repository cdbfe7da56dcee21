/** The MongoDB adapter: the conformance suite, and what is unique to it. */

import { MongoClient } from 'mongodb';
import mongo from '../../adapters/mongo/index.js';
import { describeAdapter } from '../../conformance/index.js';
import type { AdapterContext, StorageAdapter } from '../../core/contracts/storage.js';
import { mongoForTests, uniqueName } from '../support/services.js';

const databases = new WeakMap<StorageAdapter, string>();

const create = async (context: AdapterContext): Promise<StorageAdapter> => {
  const database = uniqueName('mongo');
  const adapter = mongo.create({ uri: (await mongoForTests()).url, database }, context);
  databases.set(adapter, database);
  return adapter;
};

const dropDatabase = async (adapter: StorageAdapter): Promise<void> => {
  const client = new MongoClient((await mongoForTests()).url);
  await client.db(databases.get(adapter)).dropDatabase();
  await client.close();
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
  cleanup: dropDatabase,
});
