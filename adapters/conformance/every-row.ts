/** Compares every document of a collection with the published one, and reads the collection in every order. */
import type { Collection, Document, Scalar, Snapshot } from 'metro-forecast-api/adapter';
import { isSame, sameList, sameSequence, sameValue } from './expect.js';
import { find, findJson } from './find-rows.js';
import { answerOf, ordersOf } from './reference.js';

/** Number of concurrent calls of get(). With many more, an adapter may reject reads that wait for a connection. */
const TOGETHER = 16;

/** Compares the keys first, so that the message about a wrong order or a missing document is short. */
export const sameDocuments = (
  collection: Collection,
  found: readonly Document[],
  expected: readonly Document[],
  query: object,
) => {
  if (isSame(found, expected)) return;
  sameSequence(collection, found, expected, query);
  for (const [i, document] of expected.entries()) sameValue(found[i], document, 'the document as it was published');
};

/** Reads every document by its key. */
export const readsKeys = async (
  snapshot: Snapshot,
  { name, key }: Collection,
  documents: readonly Document[],
): Promise<void> => {
  for (let start = 0; start < documents.length; start += TOGETHER) {
    const some = documents.slice(start, start + TOGETHER);
    const keys = some.map((document) => key.map((field) => document[field] as Scalar));
    sameList(await Promise.all(keys.map((each) => snapshot.get(name, each))), some, `get() of ${JSON.stringify(keys)}`);
    if (!snapshot.getJson) continue;
    const texts = await Promise.all(keys.map((each) => snapshot.getJson!(name, each)));
    sameList(
      texts.map((text) => text && JSON.parse(text)),
      some,
      `getJson() of ${JSON.stringify(keys)}`,
    );
  }
};

export const readsEvery = async (
  snapshot: Snapshot,
  collection: Collection,
  documents: readonly Document[],
): Promise<void> => {
  for (const order of ordersOf(collection)) {
    const query = { order };
    const expected = answerOf(documents, query);
    sameDocuments(collection, await find(snapshot, collection, query), expected, query);
    if (!snapshot.findJson) continue;
    sameDocuments(collection, await findJson(snapshot, collection, query), expected, query);
  }
  await readsKeys(snapshot, collection, documents);
};
