import assert from 'node:assert/strict';
import type { Collection, Document, JsonRows, Query, Snapshot } from 'metro-forecast-api/adapter';
import { failsWith } from './expect.js';
import { inOrder } from './reference.js';

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

const COMMA = 0x2c;

export const parseRow = (text: string): Document => {
  const isLine = text.startsWith('{') && text.endsWith('}') && !text.includes('\n');
  if (!isLine) assert.fail(`a document is one line of text from { to }, not ${text}`);
  return JSON.parse(text) as Document;
};

export const parseRows = ({ json, ends }: JsonRows): Document[] => {
  assert(Buffer.isBuffer(json), 'json is a Buffer');
  const whole = json.toString();
  const isAscii = whole.length === json.length;
  const texts = ends.map((end, i) => {
    const start = i === 0 ? 0 : ends[i - 1]! + 1;
    if (i > 0) assert.equal(json[start - 1], COMMA, 'a comma separates two documents');
    return isAscii ? whole.slice(start, end) : json.toString('utf8', start, end);
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

/** One call of each method that reads from a collection with the key `id`. */
export const readsOf = (
  snapshot: Snapshot,
  name = 'items',
  signal?: AbortSignal,
): readonly (() => Promise<unknown>)[] => [
  () => snapshot.get(name, ['i01'], signal),
  () => readAll(snapshot.find(name, { order: ['id'] }, signal)),
  ...(snapshot.getJson ? [() => snapshot.getJson!(name, ['i01'], signal)] : []),
  ...(snapshot.findJson ? [() => readAll(snapshot.findJson!(name, { order: ['id'] }, signal))] : []),
  ...(snapshot.totals ? [() => snapshot.totals!(name, { where: [], by: ['label'], limit: 100 }, signal)] : []),
];

/** Reads that can return an empty result without a look at the store. They must fail nevertheless. */
export const emptyReadsOf = (snapshot: Snapshot, name = 'items'): readonly (() => Promise<unknown>)[] => {
  const queries: readonly Query[] = [
    { order: ['id'], limit: 0 },
    { order: ['id'], range: { field: 'id', from: 'b', to: 'a' } },
    { order: ['id'], equal: { id: 'zz' }, descending: true },
  ];
  return [
    () => snapshot.get(name, ['zz']),
    ...queries.map((query) => () => readAll(snapshot.find(name, query))),
    ...(snapshot.findJson ? queries.map((query) => () => readAll(snapshot.findJson!(name, query))) : []),
  ];
};

/** Asserts that reads reject if their collection is undeclared or their signal is aborted. */
export const readsReject = async (snapshot: Snapshot): Promise<void> => {
  for (const read of [...readsOf(snapshot, 'no_such'), ...emptyReadsOf(snapshot, 'no_such')]) {
    await failsWith('unknown_collection', read);
  }
  for (const read of readsOf(snapshot, 'items', AbortSignal.abort())) await failsWith('aborted', read);
};

type StartedRead = readonly [read: Promise<readonly Document[]>, expected: readonly Document[]];

/**
 * Starts a read with each method of the snapshot. The read with `totals` returns only the ids and labels of the
 * documents.
 */
export const startReads = (snapshot: Snapshot, all: readonly Document[]): readonly StartedRead[] => {
  const collection = { name: 'items', key: ['id'], schema: {} };
  const first = all.slice(0, 1);
  const labels = async () => {
    const groups = await snapshot.totals!('items', { where: [], by: ['id', 'label'], limit: 100 });
    return groups ? inOrder(groups).map(({ values: [id, label] }) => ({ id, label })) : all;
  };
  const json = async () => [parseRow((await snapshot.getJson!('items', ['i01']))!)];
  return [
    [find(snapshot, collection), all],
    [snapshot.get('items', ['i01']).then((item) => [item!]), first],
    ...(snapshot.totals ? [[labels(), all] as const] : []),
    ...(snapshot.findJson ? [[findJson(snapshot, collection), all] as const] : []),
    ...(snapshot.getJson ? [[json(), first] as const] : []),
  ];
};
