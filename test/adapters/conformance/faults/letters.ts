/** Defines adapters with bugs in rare characters, long names, and values at the limits. */
import type { Document } from '../../../../core/contracts/dataset.js';
import { compareBy } from '../../../../core/data/scalars.js';
import { StorageError } from '../../../../core/errors.js';
import { inSnapshot, inSnapshots } from '../breakable.js';
import { type BrokenAdapter, finding, publishing, reading, versioning } from './breaking.js';
import { SEARCHING, searching, totalsOf } from './totals.js';

const PUBLISHED = 'random reads return every document of each version as it was published';
const REFERENCE = 'random reads return what the reference returns, alone and at the same time';
const rejected = (what: string) => `publish(dataset) stores ${what} whole, or rejects them with invalid_dataset`;

const LIMITED = { publish: true, versions: true, durable: false, limits: { keyBytes: 400, rowBytes: 50_000 } };

/** Changes every string of a document, also in nested values. */
const replacing = (change: (text: string) => string) =>
  reading((document) =>
    JSON.parse(JSON.stringify(document), (_, value) => (typeof value === 'string' ? change(value) : value)),
  );

export const letterBugs: readonly BrokenAdapter[] = [
  {
    that: 'decodes entities in strings',
    ...replacing((text) => text.replaceAll('&#65;', 'A')),
    fails: [PUBLISHED],
  },
  {
    that: 'removes a filler character of Hangul',
    ...replacing((text) => text.replaceAll('\u115f', '')),
    fails: [PUBLISHED],
  },
  {
    that: 'returns at most 5,000 elements of a list',
    ...reading((document) => {
      const { list } = document;
      return Array.isArray(list) ? { ...document, list: list.slice(0, 5000) } : document;
    }),
    fails: [PUBLISHED],
  },
  {
    that: 'shortens the names of collections to 63 characters',
    fault: (adapter, { collections }) => ({
      snapshot() {
        const snapshot = adapter.snapshot();
        const names = [...collections.keys()];
        const tableOf = (name: string) => names.find((each) => each.slice(0, 63) === name.slice(0, 63)) ?? name;
        return { ...snapshot, find: (name, ...given) => snapshot.find(tableOf(name), ...given) };
      },
    }),
    fails: [PUBLISHED, REFERENCE],
  },
  {
    that: 'finds a word by its prefix if the query contains both',
    capabilities: SEARCHING,
    fault: inSnapshot((snapshot) => {
      const whole = searching(snapshot);
      return {
        ...whole,
        find(name, { words, ...query }, signal) {
          const kept = words?.filter((word) => !words.includes(`${word}*`));
          return whole.find!(name, { ...query, ...(kept && { words: kept }) }, signal);
        },
      };
    }),
    fails: ['find(collection, query) with words yields the documents that contain all words, in order'],
  },
  {
    that: 'ignores the upper bound in snapshots of asOf()',
    ...versioning((versions) => ({
      async asOf(time) {
        const snapshot = await versions.asOf(time);
        if (!snapshot) return snapshot;
        return {
          ...snapshot,
          find(name, query, signal) {
            const { field, from } = query.range ?? {};
            const lower = field !== undefined && from !== undefined && { range: { field, from } };
            return snapshot.find(name, { ...query, ...lower }, signal);
          },
        };
      },
    })),
    fails: [REFERENCE],
  },
  {
    that: 'returns the smallest positive number of a group as its minimum',
    fault: inSnapshot((snapshot) => ({
      async totals(name, query, signal) {
        const groups = await totalsOf(snapshot, name, query, signal);
        if (query.of !== 'level') return groups;
        return groups.map((group) => {
          const { numbers } = group;
          if (!numbers) return group;
          const { count, sum, min, max } = numbers;
          return { ...group, numbers: { count, sum, min: Math.max(min, 0), max } };
        });
      },
    })),
    fails: [REFERENCE],
  },
  {
    that: 'decodes percent signs in titles of sources',
    fault: inSnapshot(({ manifest }) => ({
      manifest: {
        ...manifest,
        sources: manifest.sources.map((source) => ({ ...source, title: source.title.replaceAll('%2F', '/') })),
      },
    })),
    fails: [
      'snapshot() keeps the manifest as it was published: every field, null or absent, and the same text in created',
    ],
  },
  {
    that: 'writes the text of getJson() into the last batch of findJson()',
    fault: inSnapshots(() => {
      let last = Buffer.alloc(0);
      return (snapshot) => ({
        async getJson(...given) {
          const text = await snapshot.getJson!(...given);
          if (text !== undefined && last.length > text.length) last.write(text);
          return text;
        },
        async *findJson(...given) {
          for await (const rows of snapshot.findJson!(...given)) {
            last = Buffer.from(rows.json);
            yield { ...rows, json: last };
          }
        },
      });
    }),
    fails: ['findJson(collection, query) yields text that does not change after it was yielded'],
  },
  {
    that: 'answers get() with a document that a list of another collection has read',
    fault: inSnapshots(() => {
      const read = new Map<unknown, Document>();
      return (snapshot) => ({
        async get(...given) {
          const found = await snapshot.get(...given);
          return found && (read.get(found['id']) ?? found);
        },
        async *find(...given) {
          for await (const batch of snapshot.find(...given)) {
            for (const document of batch.filter(({ id }) => typeof id === 'string')) read.set(document['id'], document);
            yield batch;
          }
        },
      });
    }),
    fails: ['reading get(collection, key) reads its own collection when another one has the same key'],
  },
  {
    that: 'ends a list when queries of 20 other shapes were read meanwhile',
    fault: inSnapshots(() => {
      let shapes: readonly string[] = [];
      return (snapshot) => ({
        async *find(name, query, signal) {
          const shape = JSON.stringify([name, query.order, Object.keys(query), Object.keys(query.equal ?? {})]);
          shapes = [...shapes.filter((each) => each !== shape), shape].slice(-20);
          for await (const batch of snapshot.find(name, query, signal)) {
            if (!shapes.includes(shape)) return;
            yield batch;
          }
        },
      });
    }),
    fails: [
      'reading from a large dataset a list whose caller pauses after the first batch is complete, also if others were read meanwhile',
    ],
  },
  {
    that: 'measures the limit of keys in characters, and truncates longer ones',
    capabilities: LIMITED,
    ...publishing((adapter, dataset, options) =>
      adapter.publish!(
        {
          ...dataset,
          async *read(name) {
            for await (const batch of dataset.read(name)) {
              yield batch.map((document) => {
                const { value: word } = document;
                if (typeof word !== 'string') return document;
                if (word.length > 400) throw new StorageError('invalid_dataset', 'The key is too long.');
                const isCut = word.length < 350 && Buffer.byteLength(word) > 400;
                return isCut ? { ...document, value: `${word.slice(0, 80)}${word.at(-1)}` } : document;
              });
            }
          },
        },
        options,
      ),
    ),
    fails: [rejected('keys that exceed the limit only in bytes')],
  },
  {
    that: 'ignores the last fields of an order if they exceed the limit',
    capabilities: LIMITED,
    ...finding((found, { order, descending }) => {
      const isLong = found.some(({ name }) => typeof name === 'string' && Buffer.byteLength(name) > 400);
      if (!isLong || order[0] !== 'name' || descending) return found;
      return found.toSorted((a, b) => compareBy(['size'])(a, b));
    }),
    fails: [rejected('order fields that exceed the limit')],
  },
  {
    that: 'truncates texts of documents that exceed the limit',
    capabilities: LIMITED,
    ...reading((document) => {
      const { text } = document;
      const isLong = typeof text === 'string' && Buffer.byteLength(JSON.stringify(document)) > 50_000;
      return isLong ? { ...document, text: text.slice(0, 24_000) } : document;
    }),
    fails: [rejected('documents that exceed the limit')],
  },
];
