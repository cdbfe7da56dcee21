/** Tests values that some stores cannot represent. They must either be stored unchanged or rejected. */
import { type Collection, compareBy, type Document } from 'metro-forecast-api/adapter';
import type { AdapterUnderTest } from './adapter-under-test.js';
import { readsEvery } from './every-row.js';
import { failsWith, sameList, sameValue } from './expect.js';
import { find } from './find-rows.js';
import {
  datasetOf,
  FIRST,
  FOURTH_CREATED,
  type Rows,
  SECOND,
  SECOND_CREATED,
  spots,
  THIRD,
  THIRD_CREATED,
  words,
} from './fixture.js';
import { hasVersion, type Instance, startInstance, withSnapshot } from './instance.js';
import { itUnless, without } from './obstacles.js';
import { answerOf, ordersOf } from './reference.js';

const FIFTH_CREATED = '2024-05-01T00:00:00Z';
const KEY_BYTES = 20_000;
const ROW_BYTES = 4 * 2 ** 20;
/** Of a longer list, only the first and the last document are read by their keys. */
const FEW = 8;

/**
 * Returns documents whose keys have `bytes` bytes. Some keys differ only in the last byte. The other keys contain
 * characters that JSON escapes.
 */
const keysOf = (bytes: number): readonly Document[] =>
  ['\x01a', '"a', 'ka', 'kb'].map(([letter, end]) => ({ value: `${letter!.repeat(bytes - 1)}${end}`, units: bytes }));

/** Returns documents whose keys have at most `bytes` bytes, but about half or a quarter as many characters. */
const wideKeysOf = (bytes: number): readonly Document[] =>
  ['é', '😀'].flatMap((letter) => {
    const start = letter.repeat(Math.floor((bytes - 1) / Buffer.byteLength(letter)));
    return ['a', 'b'].map((end) => ({ value: start + end, units: bytes }));
  });

/** Returns documents whose JSON has `bytes` bytes. `bytes` must be even, because "é" takes two bytes. */
const rowsOf = (bytes: number, words = 'ab'): readonly Document[] =>
  [...words].map((value) => {
    const row = { value, units: 1, text: '' };
    return { ...row, text: 'é'.repeat((bytes - JSON.stringify(row).length) / 2) };
  });

/** Returns documents whose order fields have `bytes` bytes. Their names differ only in the last byte. */
const spotsOf = (bytes: number): readonly Document[] =>
  [1, 2].map((id) => ({ id, size: -id, name: `${'n'.repeat(bytes - 17)}${id}` }));

/** A collection whose keys have a string and two numbers. */
const parts: Collection = {
  ...words,
  name: 'parts',
  key: ['value', 'units', 'ratio'],
  orders: [['ratio', 'units', 'value']],
  schema: {
    type: 'object',
    properties: { value: { type: 'string' }, units: { type: 'integer' }, ratio: { type: 'number' } },
    required: ['value', 'units', 'ratio'],
  },
};

/** Returns documents whose keys have `bytes` bytes. The text of each number has more than 8 characters. */
const partsOf = (bytes: number): readonly Document[] =>
  ['a', 'b']
    .flatMap((end) =>
      [-2e-300 / 3, -1e-300 / 3].map((ratio) => ({
        value: `${'k'.repeat(bytes - 17)}${end}`,
        units: Number.MIN_SAFE_INTEGER,
        ratio,
      })),
    )
    .toSorted(compareBy(parts.key));

const NUL_NAMES = [
  { value: 'a', units: 1, 'x\0y': 1, x: 2, 'x\0': 3, object: { 'x\0y': 4, x: 5 } },
  { value: 'b', units: 1, '\0': 1 },
];

export const describeLimits = (target: AdapterUnderTest): void => {
  const named = new Map([words, spots, parts].map((collection) => [collection.name, collection]));

  /** Asserts that the adapter either stores all documents, or rejects the publication and changes nothing. */
  const isWholeOrRejected = async (instance: Instance, content: Rows): Promise<void> => {
    const publish = () => instance.adapter.publish!(datasetOf(SECOND, SECOND_CREATED, content));
    const [settled] = await Promise.allSettled([publish()]);
    if (settled?.status === 'fulfilled') {
      await isStored(instance, content['words'] ?? []);
      return isSorted(instance, content['spots'] ?? []);
    }
    await failsWith('invalid_dataset', () => Promise.reject(settled?.reason));
    hasVersion(instance, FIRST);
    await instance.adapter.publish!(datasetOf(SECOND, SECOND_CREATED, { words: [] }));
  };

  const isSorted = (instance: Instance, documents: readonly Document[]): Promise<void> =>
    withSnapshot(instance, async (snapshot) => {
      for (const order of ordersOf(spots)) {
        const found = await find(snapshot, spots, { order });
        sameList(found, answerOf(documents, { order }), `the documents in the order [${order}]`);
      }
    });

  const isStored = (instance: Instance, documents: readonly Document[]): Promise<void> =>
    withSnapshot(instance, async (snapshot) => {
      sameList(await find(snapshot, words), documents, 'the documents as they were published');
      const some = documents.length > FEW ? [documents[0]!, documents.at(-1)!] : documents;
      for (const document of some) {
        const found = await snapshot.get('words', [document['value'] as string]);
        sameValue(found, document, 'get() to return the published document');
        const equal = { value: document['value'] as string };
        sameList(await find(snapshot, words, { equal }), [document], 'the document with the key');
      }
    });

  describe('publish(dataset)', () => {
    const { keyBytes = 2000, rowBytes = 2 ** 20 } = target.capabilities.limits ?? {};
    const evenBytes = rowBytes - (rowBytes % 2);
    const longer = [keyBytes + 2, Math.floor(1.5 * keyBytes), 2 * keyBytes];
    for (const [what, contents] of [
      ['keys of 20,000 bytes', [{ words: keysOf(KEY_BYTES) }]],
      ['documents of 4 MiB', [{ words: rowsOf(ROW_BYTES) }]],
      ['field names with NUL', [{ words: NUL_NAMES }]],
      ['keys that exceed the limit only in bytes', longer.map((bytes) => ({ words: wideKeysOf(bytes) }))],
      ['order fields that exceed the limit', longer.map((bytes) => ({ spots: spotsOf(bytes) }))],
      ['documents that exceed the limit', [{ words: rowsOf(evenBytes + 2) }, { words: rowsOf(evenBytes + 1000) }]],
    ] as const) {
      itUnless(without(target, 'publish'), `stores ${what} whole, or rejects them with invalid_dataset`, async () => {
        for (const content of contents) {
          const instance = await startInstance(target, datasetOf(), named);
          try {
            await isWholeOrRejected(instance, content);
          } finally {
            await instance.stop();
          }
        }
      });
    }

    itUnless(without(target, 'publish'), 'stores keys and documents that are as long as the limits allow', async () => {
      const instance = await startInstance(target, datasetOf(), named);
      try {
        for (const [version, created, documents] of [
          [SECOND, SECOND_CREATED, [...keysOf(keyBytes), ...wideKeysOf(keyBytes)]],
          [THIRD, THIRD_CREATED, rowsOf(evenBytes, 'abcdefghijklmnopq')],
        ] as const) {
          await instance.adapter.publish!(datasetOf(version, created, { words: documents }));
          await isStored(instance, documents);
        }
        const long = spotsOf(keyBytes);
        await instance.adapter.publish!(datasetOf('spots', FOURTH_CREATED, { spots: long }));
        await isSorted(instance, long);
        const longParts = partsOf(keyBytes);
        await instance.adapter.publish!(datasetOf('parts', FIFTH_CREATED, { parts: longParts }));
        await withSnapshot(instance, (snapshot) => readsEvery(snapshot, parts, longParts));
      } finally {
        await instance.stop();
      }
    });
  });
};
