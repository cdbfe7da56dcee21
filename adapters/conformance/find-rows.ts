import assert from 'node:assert/strict';
import type { Collection, Document, JsonRows, Query, Snapshot } from 'metro-forecast-api/adapter';

export const find = async (
  snapshot: Snapshot,
  { name, key }: Collection,
  query: Partial<Query> = {},
  signal?: AbortSignal,
): Promise<Document[]> => {
  const found: Document[] = [];
  for await (const batch of snapshot.find(name, { order: key, ...query }, signal)) found.push(...batch);
  return found;
};

export const parseRow = (text: string): Document => {
  const isLine = text.startsWith('{') && text.endsWith('}') && !text.includes('\n');
  assert(isLine, `a document is one line of text from { to }, not ${text}`);
  return JSON.parse(text) as Document;
};

export const parseRows = ({ json, ends }: JsonRows): Document[] => {
  assert(Buffer.isBuffer(json), 'json is a Buffer');
  const texts = ends.map((end, i) => {
    const start = i === 0 ? 0 : ends[i - 1]! + 1;
    if (i > 0) assert.equal(json.toString('utf8', start - 1, start), ',', 'a comma separates two documents');
    return json.toString('utf8', start, end);
  });
  assert.equal(ends.at(-1) ?? 0, json.length, 'the last document ends where the text ends');
  return texts.map(parseRow);
};

export const findJson: typeof find = async (snapshot, { name, key }, query = {}, signal) => {
  const found: Document[] = [];
  for await (const rows of snapshot.findJson!(name, { order: key, ...query }, signal)) found.push(...parseRows(rows));
  return found;
};

export const restOf = async (batches: AsyncIterator<readonly Document[]>): Promise<Document[]> => {
  const rest: Document[] = [];
  for await (const batch of { [Symbol.asyncIterator]: () => batches }) rest.push(...batch);
  return rest;
};

const readAll = async (batches: AsyncIterable<unknown>): Promise<void> => {
  for await (const _ of batches);
};

/** One call of each method that reads from the collection `items`. */
export const readsOf = (snapshot: Snapshot): readonly (() => Promise<unknown>)[] => [
  () => snapshot.get('items', ['i01']),
  () => readAll(snapshot.find('items', { order: ['id'] })),
  ...(snapshot.getJson ? [() => snapshot.getJson!('items', ['i01'])] : []),
  ...(snapshot.findJson ? [() => readAll(snapshot.findJson!('items', { order: ['id'] }))] : []),
  ...(snapshot.totals ? [() => snapshot.totals!('items', { where: [], by: ['label'], limit: 100 })] : []),
];
