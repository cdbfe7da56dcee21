import type { JsonRows } from '../../../../core/contracts/storage.js';
import { jsonRows } from '../../../../core/data/packed-documents.js';
import { StorageError } from '../../../../core/errors.js';
import { inSnapshots } from '../breakable.js';
import type { BrokenAdapter } from './breaking.js';

const YIELDS =
  'findJson(collection, query) yields the JSON text of the documents that find() yields, in the same order';

const GETS = 'getJson(collection, key) resolves with the JSON text of the document that get() returns';

const changing = (change: (rows: JsonRows) => JsonRows): Pick<BrokenAdapter, 'fault'> => ({
  fault: inSnapshots(() => (snapshot) => ({
    async *findJson(...query) {
      for await (const rows of snapshot.findJson!(...query)) yield change(rows);
    },
  })),
});

export const storedJsonFaults: readonly BrokenAdapter[] = [
  {
    that: 'reports the end of a stored document after the comma',
    ...changing(({ json, ends }) => ({ json, ends: ends.map((end, i) => (i < ends.length - 1 ? end + 1 : end)) })),
    fails: [YIELDS],
  },
  {
    that: 'separates stored text with a comma and a space',
    ...changing(({ json, ends }) => {
      const texts = ends.map((end, i) => json.toString('utf8', i === 0 ? 0 : ends[i - 1]! + 1, end));
      return { json: Buffer.from(texts.join(', ')), ends: ends.map((end, i) => end + i) };
    }),
    fails: [YIELDS],
  },
  {
    that: 'ignores the direction in findJson()',
    fault: inSnapshots(() => (snapshot) => ({
      findJson: (name, { descending: _, ...query }, signal) => snapshot.findJson!(name, query, signal),
    })),
    fails: [YIELDS],
  },
  {
    that: 'counts the bytes of stored text with 16 bits',
    ...changing(({ json, ends }) => ({ json, ends: [...Uint16Array.from(ends)] })),
    fails: [YIELDS],
  },
  {
    that: 'reuses the memory of stored text',
    fault: inSnapshots(() => {
      const memory = Buffer.alloc(1_000_000);
      return (snapshot) => ({
        async *findJson(...query) {
          for await (const { json, ends } of snapshot.findJson!(...query)) {
            json.copy(memory);
            yield { json: memory.subarray(0, json.length), ends };
          }
        },
      });
    }),
    fails: ['findJson(collection, query) yields text that does not change after it was yielded'],
  },
  {
    that: 'ends findJson() without an error when the adapter is closed',
    fault: (adapter) => {
      let isClosed = false;
      return {
        async close() {
          isClosed = true;
          await adapter.close();
        },
        ...inSnapshots(() => (snapshot) => ({
          async *findJson(...query) {
            if (isClosed) throw new StorageError('closed', 'The adapter has been closed.');
            for await (const documents of snapshot.find(...query)) {
              for (let start = 0; start < documents.length; start += 1000) {
                yield jsonRows(documents.slice(start, start + 1000));
                if (isClosed) return;
              }
            }
          },
        }))(adapter, undefined as never),
      };
    },
    fails: ['close() lets a findJson() in progress return all its rows or reject with closed'],
  },
  {
    that: 'reads the current version in findJson()',
    fault: inSnapshots((adapter) => () => ({
      async *findJson(...query) {
        const current = adapter.snapshot();
        try {
          yield* current.findJson!(...query);
        } finally {
          current.release();
        }
      },
    })),
    fails: ['snapshot() reads its own version, whatever was read from another one before'],
  },
  {
    that: 'returns the text of a missing document as "null"',
    fault: inSnapshots(() => (snapshot) => ({
      getJson: async (...get) => JSON.stringify((await snapshot.get(...get)) ?? null),
    })),
    fails: [GETS],
  },
  {
    that: 'leaves out null fields of a document',
    fault: inSnapshots(() => (snapshot) => ({
      getJson: async (...get) => {
        const document = await snapshot.get(...get);
        return (
          document && JSON.stringify(document, (name, value) => (value === null && name !== '' ? undefined : value))
        );
      },
    })),
    fails: [GETS],
  },
  {
    that: 'indents the text of a document',
    fault: inSnapshots(() => (snapshot) => ({
      getJson: async (...get) => JSON.stringify(await snapshot.get(...get), null, 2),
    })),
    fails: [GETS],
  },
  {
    that: 'ignores the signal in getJson()',
    fault: inSnapshots(() => (snapshot) => ({ getJson: (name, key) => snapshot.getJson!(name, key) })),
    fails: ['getJson(collection, key) rejects like get(): with unknown_collection and aborted'],
  },
  {
    that: 'ignores the words of a query in findJson()',
    database: true,
    fault: (adapter) => ({
      snapshot() {
        const snapshot = adapter.snapshot();
        const findJson = snapshot.findJson!.bind(snapshot);
        return Object.assign(snapshot, {
          findJson: ((name, { words: _, ...query }, signal) => findJson(name, query, signal)) satisfies typeof findJson,
        });
      },
    }),
    fails: ['find(collection, query) with words yields the same documents with findJson()'],
  },
  {
    that: 'does not declare the capability "json"',
    capabilities: { publish: true, versions: true, durable: false, totals: true },
    fails: ['the adapter and its snapshots have the members of its capabilities, and no others'],
  },
];
