/** Typical bugs of adapters that store fields in columns, or name indexes after their fields. */
import { LONG_NAMES } from '../../../../adapters/conformance/rows.js';
import type { Document, Manifest } from '../../../../core/contracts/dataset.js';
import type { Dataset } from '../../../../core/contracts/storage.js';
import { asking, type BrokenAdapter, publishing } from './breaking.js';

const ORDERS = 'reading find(collection, { order, descending })';
const NAMES = `${ORDERS} orders by fields with long, similar or reserved names`;

const storing = (start: () => (document: Document) => Document) =>
  publishing((adapter, dataset, options) => {
    const read: Dataset['read'] = async function* (name) {
      const change = start();
      for await (const batch of dataset.read(name)) yield batch.map(change);
    };
    return adapter.publish!({ ...dataset, read }, options);
  });

/** Two orders can get the same index name. The adapter then uses the index of the first order. */
const indexedAs = (nameOf: (order: readonly string[]) => string) =>
  asking((query) => {
    const first = [
      ['group', 'order_id', 'order'],
      [LONG_NAMES[0], 'order'],
    ].find((order) => nameOf(order) === nameOf(query.order));
    return first && !query.equal && !query.range ? { ...query, order: first } : query;
  });

export const columnBugs: readonly BrokenAdapter[] = [
  {
    that: 'joins the fields of an order with underscores to name its index',
    ...indexedAs((order) => order.join('_')),
    fails: [NAMES],
  },
  {
    that: 'cuts the names of its indexes to 63 characters',
    ...indexedAs((order) => order.join().slice(0, 63)),
    fails: [NAMES],
  },
  {
    that: 'sorts by the first 191 bytes of a string',
    sqlite: {
      orderBy: (order, descending) =>
        order
          .map((field) => (field === 'name' ? 'substr("name", 1, 191)' : `"${field}"`) + (descending ? ' DESC' : ''))
          .join(', '),
    },
    fails: [`${ORDERS} orders by any string and number outside the key, in either position`],
  },
  {
    that: 'takes its columns from the first 1,000 documents',
    ...storing(() => {
      const names = new Set<string>();
      let count = 0;
      return (document) => {
        if (++count <= 1000) for (const name of Object.keys(document)) names.add(name);
        return Object.fromEntries(Object.entries(document).filter(([name]) => names.has(name)));
      };
    }),
    fails: ['reading from a large dataset a collection of 66,000 documents returns every document as it was published'],
  },
  {
    that: 'converts digits to numbers in a column that started with a number',
    ...storing(() => {
      const numeric = new Map<string, boolean>();
      return (document) => {
        const converted = Object.entries(document).map(([name, value]) => {
          if (!numeric.has(name)) numeric.set(name, typeof value === 'number');
          return [name, numeric.get(name) && typeof value === 'string' && /^\d+$/.test(value) ? Number(value) : value];
        });
        return Object.fromEntries(converted);
      };
    }),
    fails: ['reading documents keeps values of different types in the same field'],
  },
  {
    that: 'calls hasOwnProperty() of documents, which can be a field',
    ...storing(() => (document) => {
      // biome-ignore lint/suspicious/noPrototypeBuiltins: the bug
      if (!document.hasOwnProperty('__proto__')) return document;
      return { ...document };
    }),
    fails: ['reading starts with a publication of all rows within the limits of the adapter'],
  },
  {
    that: 'copies only the first level of the manifest',
    fault(adapter) {
      const kept = new Map<string, Manifest>();
      return {
        async publish(dataset, options) {
          await adapter.publish!(dataset, options);
          kept.set(dataset.manifest.version, { ...dataset.manifest });
        },
        snapshot() {
          const snapshot = adapter.snapshot();
          return { ...snapshot, manifest: kept.get(snapshot.version) ?? snapshot.manifest };
        },
      };
    },
    fails: ['documents and the manifest belong to their publisher after publish() has resolved'],
  },
];
