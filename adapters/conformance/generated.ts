/**
 * Compares the adapter with a reference implementation on many generated datasets. Shrinks datasets that cause a
 * failure.
 */
import { type Collection, compareBy, type Document, type Query, type Scalar } from 'metro-forecast-api/adapter';
import type { AdapterUnderTest } from './adapter-under-test.js';
import { sameSequence, sameValue } from './expect.js';
import { find, findJson } from './find-rows.js';
import { inBatches, isWithin } from './fixture.js';
import { type Instance, makeCurrent, startInstance, withSnapshot } from './instance.js';
import { manifestOf } from './manifest.js';
import { cannotChange, itUnless } from './obstacles.js';
import { ENDINGS, PREFIXES } from './prefixes.js';
import { type Check, fc, holds, WITHOUT_FAST_CHECK } from './property.js';
import { findQueryOf, type Seeds, seedsOf } from './random-queries.js';
import { answerOf } from './reference.js';
import { numbers, words } from './tricky-values.js';

const DATASETS = 150;

const answersRightly = async (
  instance: Instance,
  collection: Collection,
  documents: readonly Document[],
  query: Query,
) =>
  withSnapshot(instance, async (snapshot) => {
    const expected = answerOf(documents, query);
    sameSequence(collection, await find(snapshot, collection, query), expected, query);
    if (!snapshot.findJson) return;
    sameSequence(collection, await findJson(snapshot, collection, query), expected, { findJson: query });
  });

const generated: Collection = {
  name: 'generated',
  key: ['name', 'part'],
  orders: [
    ['part', 'name'],
    ['rank', 'group', 'name', 'part'],
    ['group', 'rank', 'part', 'name'],
  ],
  schema: {
    type: 'object',
    properties: {
      name: { type: 'string' },
      part: { type: 'integer' },
      rank: { type: 'number' },
      group: { type: 'string' },
      note: { type: ['string', 'null'] },
    },
    required: ['name', 'part', 'rank', 'group'],
  },
};

/** Includes combining characters, control characters, and characters beyond U+FFFF. */
const CHARACTERS = [
  ...'aAzZ09 .-_%"\'\\/\0\n\x7féßİıǅ日ـक्षि',
  '\u0301',
  '\u200d',
  '\ufeff',
  '\uffff',
  ...'𐀀😀👩🏽\u{10ffff}',
];

const integers = numbers.filter(Number.isSafeInteger);

/** Generates documents with unique keys, in key order, and seeds for queries on them. */
const datasetAnd = (check: Check) => {
  const { constantFrom, oneof, string, integer, double, option, jsonValue, dictionary, nat } = check;
  const isSurrogate = (code: number) => code >= 0xd800 && code <= 0xdfff;
  const anyCharacter = nat(0x10ffff).map((code) => (isSurrogate(code) ? '?' : String.fromCodePoint(code)));
  const text = oneof(
    constantFrom(...words.slice(0, 60)),
    string({ unit: constantFrom(...CHARACTERS), maxLength: 5 }),
    string({ unit: anyCharacter, maxLength: 3 }),
    check.tuple(constantFrom(...PREFIXES.slice(0, 14)), constantFrom(...ENDINGS)).map((parts) => parts.join('')),
  );
  const number = oneof(constantFrom(...numbers), double({ noNaN: true, noDefaultInfinity: true }), integer());
  const document = check.record(
    {
      name: text,
      part: oneof(integer({ min: -2, max: 2 }), constantFrom(...integers)),
      rank: oneof(integer({ min: -1, max: 1 }), number),
      group: oneof(constantFrom('', 'a', 'B', 'b'), text),
      note: option(text),
      extra: jsonValue({ maxDepth: 3 }),
      more: dictionary(
        text.filter((name) => name !== '__proto__' && !name.includes('\0')),
        oneof(number, text),
        { maxKeys: 3 },
      ),
    },
    { requiredKeys: ['name', 'part', 'rank', 'group'] },
  );
  const documents = check.uniqueArray(document, {
    maxLength: 8,
    selector: ({ name, part }) => JSON.stringify([name, part + 0]),
  });
  const inOrder = documents.map((list) =>
    (list as Document[]).filter((each) => isWithin(generated, each)).toSorted(compareBy(generated.key)),
  );
  return check.tuple(inOrder, check.array(seedsOf(check), { maxLength: 8 }));
};

const plain = <T>(value: T): T => JSON.parse(JSON.stringify(value)) as T;

export const describeGeneratedDatasets = (target: AdapterUnderTest): void => {
  const obstacle = WITHOUT_FAST_CHECK || cannotChange(target);
  const named = new Map([[generated.name, generated]]);
  const datasetOf = (version: number, documents: readonly Document[]) => ({
    manifest: manifestOf(`generated-${version}`, new Date(Date.UTC(2024, 0, 1) + version).toISOString()),
    read: () => inBatches(documents, 3),
  });

  describe('generated datasets', () => {
    itUnless(obstacle, 'are returned as they were published, by get() and by any query', async () => {
      let version = 0;
      const instance = await startInstance(target, datasetOf(version, []), named);
      type Example = readonly [readonly Document[], readonly Seeds[]];
      const isRight = async ([documents, queries]: Example): Promise<void> => {
        await makeCurrent(target, instance, datasetOf(++version, documents));
        await withSnapshot(instance, async (snapshot) => {
          const found = plain(await find(snapshot, generated));
          const stored = snapshot.findJson && plain(await findJson(snapshot, generated));
          for (const [i, document] of documents.entries()) {
            const key = generated.key.map((field) => document[field] as Scalar);
            sameValue(found[i], plain(document), 'find() to return the published document');
            const got = await snapshot.get(generated.name, key);
            sameValue(got && plain(got), plain(document), 'get() to return the published document');
            if (stored) sameValue(stored[i], plain(document), 'findJson() to return the published document');
          }
        });
        for (const seeds of queries) {
          await answersRightly(instance, generated, documents, findQueryOf(seeds, generated, documents));
        }
      };
      const shown = ([documents, queries]: Example): string => {
        const asked = queries.map((seeds) => JSON.stringify(findQueryOf(seeds, generated, documents))).join(' ');
        return `  published: ${JSON.stringify(documents)}\n  asked: ${asked}`;
      };
      try {
        await holds(datasetAnd(fc!), DATASETS, isRight, shown);
      } finally {
        await instance.stop();
      }
    });
  });
};
