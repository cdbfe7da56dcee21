/** The driver alone: finds markets in MongoDB by the query that the adapter makes of it. */
import { MongoClient } from 'mongodb';
import { planGet, type Row } from '../adapters/mongo/layout.js';
import { markets } from '../plugins/metro/collections.js';

export interface MarketFinder {
  find(cbsa: string): Promise<Row | null>;
  close(): Promise<void>;
}

export const marketFinder = async (uri: string, database: string): Promise<MarketFinder> => {
  const client = await MongoClient.connect(uri);
  const db = client.db(database);
  const names = (await db.listCollections({}, { nameOnly: true }).toArray()).map(({ name }) => name);
  const name = names.find((name) => /^data\.\d+\.markets$/.test(name));
  if (!name) throw new Error(`There is no collection of markets in ${database}.`);
  const collection = db.collection<Row>(name);
  return {
    find(cbsa) {
      const { filter, options } = planGet(markets, [cbsa]);
      return collection.findOne(filter, options);
    },
    close: () => client.close(),
  };
};
