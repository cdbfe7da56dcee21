/** Compares every document of a collection with the published one, and reads the collection in every order. */
import type { Collection, Document, Scalar, Snapshot } from 'metro-forecast-api/adapter';
import { sameList, sameSequence, sameValue } from './expect.js';
import { find, findJson } from './find-rows.js';
import { answerOf, ordersOf } from './reference.js';

/** Number of documents per read whose values are compared. */
const VALUES = 20;
/** Number of concurrent calls of get(). With many more, an adapter may reject reads that wait for a connection. */
const TOGETHER = 16;

/** Compares all keys, and the values of at most `most` documents. */
export const sameDocuments = (
  collection: Collection,
  found: readonly Document[],
  expected: readonly Document[],
  query: object,
  most = VALUES,
) => {
  sameSequence(collection, found, expected, query);
  const step = Math.ceil(expected.length / most);
  for (let i = 0; i < expected.length; i += step) {
    sameValue(found[i], expected[i], 'the document as it was published');
  }
};

export const readsEvery = async (
  snapshot: Snapshot,
  collection: Collection,
  documents: readonly Document[],
): Promise<void> => {
  const { length } = documents;
  for (const [i, order] of ordersOf(collection).entries()) {
    const query = { order };
    const expected = answerOf(documents, query);
    // All values are compared only for the first order, because the comparison takes long.
    const most = i === 0 ? length : VALUES;
    sameDocuments(collection, await find(snapshot, collection, query), expected, query, most);
    if (!snapshot.findJson) continue;
    sameDocuments(collection, await findJson(snapshot, collection, query), expected, query, most);
  }
  for (let start = 0; start < length; start += TOGETHER) {
    const some = documents.slice(start, start + TOGETHER);
    const keys = some.map((document) => collection.key.map((field) => document[field] as Scalar));
    const found = await Promise.all(keys.map((key) => snapshot.get(collection.name, key)));
    sameList(found, some, `get() of ${JSON.stringify(keys)}`);
  }
};
