/** The driver alone: finds a market in MongoDB by the query that the adapter makes of it. */
import { MongoClient } from 'mongodb';
import { planGet, type Row } from '../adapters/mongo/layout.js';
import { markets } from '../metro/collections.js';

export interface MarketFinder {
  find(): Promise<Row | null>;
  close(): Promise<void>;
}

export const marketFinder = async (uri: string, database: string, cbsa: string): Promise<MarketFinder> => {
  const client = await MongoClient.connect(uri);
  const db = client.db(database);
  const names = (await db.listCollections({}, { nameOnly: true }).toArray()).map(({ name }) => name);
  const name = names.find((name) => /^data\.\d+\.markets$/.test(name));
  if (!name) throw new Error(`There is no collection of markets in ${database}.`);
  const { filter, options } = planGet(markets, [cbsa]);
  const collection = db.collection<Row>(name);
  return { find: () => collection.findOne(filter, options), close: () => client.close() };
};
