import type { Document, Manifest } from '../../../../core/contracts/dataset.js';
import type { AdapterContext, Dataset, PublishOptions, Query, Scalar } from '../../../../core/contracts/storage.js';
import { type Catalog, type Content, FolderAdapter } from '../folder-adapter.js';
import type { BrokenAdapter } from './breaking.js';

const mapped = (value: unknown, change: (value: unknown) => unknown, rename = (name: string) => name): unknown => {
  const changed = change(value);
  if (Array.isArray(changed)) return changed.map((each) => mapped(each, change, rename));
  if (changed === null || typeof changed !== 'object') return changed;
  const result = {};
  for (const [name, each] of Object.entries(changed)) {
    Object.defineProperty(result, rename(name), {
      value: mapped(each, change, rename),
      enumerable: true,
      configurable: true,
      writable: true,
    });
  }
  return result;
};

export const encoding = (change: (value: unknown) => unknown, rename?: (name: string) => string) =>
  class extends FolderAdapter {
    override encode(document: Document, name: string) {
      return super.encode(mapped(document, change, rename) as Document, name);
    }
  };

const strings = (change: (text: string) => string) =>
  encoding((value) => (typeof value === 'string' ? change(value) : value));
const numbers = (change: (value: number) => unknown) =>
  encoding((value) => (typeof value === 'number' ? change(value) : value));
const names = (rename: (name: string) => string) => encoding((value) => value, rename);

const joined = (separator: string) =>
  class extends FolderAdapter {
    override keyText(key: readonly Scalar[]) {
      return key.map((value) => (Object.is(value, -0) ? 0 : value)).join(separator);
    }
  };

const cutKeys = (bytes: number) =>
  class extends FolderAdapter {
    override keyText(key: readonly Scalar[]) {
      return super.keyText(key.map((value) => (typeof value === 'string' ? value.slice(0, bytes) : value)));
    }
  };

/** Drops the last rows of collections with exactly `size` documents. */
const losing = (size: number) =>
  class extends FolderAdapter {
    override matching(rows: readonly Document[], query: Query) {
      const found = super.matching(rows, query);
      return rows.length === size ? found.filter((row) => row !== rows.at(-1)) : found;
    }
  };

export const manifests = (change: (manifest: Manifest) => unknown) =>
  class extends FolderAdapter {
    override save({ versions, moves }: Catalog) {
      super.save({
        versions: versions.map((each) => ({ ...each, manifest: change(each.manifest) as Manifest })),
        moves,
      });
    }
  };

const texts = (change: (text: string) => string) => (manifest: Manifest) =>
  JSON.parse(JSON.stringify(manifest), (name, value) =>
    typeof value === 'string' && name !== 'version' && name !== 'created' ? change(value) : value,
  );

export const keyBugs: readonly BrokenAdapter[] = [
  {
    that: 'joins the fields of a key with a colon',
    fails: ['reading get(collection, key) distinguishes keys that would be equal if their fields were joined'],
    folder: joined(':'),
  },
  {
    that: 'joins the fields of a key with a slash',
    fails: ['reading get(collection, key) distinguishes keys that would be equal if their fields were joined'],
    folder: joined('/'),
  },
  {
    that: 'joins the fields of a key with an underscore',
    fails: ['reading get(collection, key) distinguishes keys that would be equal if their fields were joined'],
    folder: joined('_'),
  },
  {
    that: 'joins the fields of a key with the unit separator',
    fails: ['reading get(collection, key) distinguishes keys that would be equal if their fields were joined'],
    folder: joined('\x1f'),
  },
  {
    that: 'joins the fields of a key with a line feed',
    fails: ['reading get(collection, key) distinguishes keys that would be equal if their fields were joined'],
    folder: joined('\n'),
  },
  {
    that: 'joins the fields of a key with U+FFFF',
    fails: ['reading get(collection, key) distinguishes keys that would be equal if their fields were joined'],
    folder: joined('\uffff'),
  },
  {
    that: 'truncates keys to 511 bytes',
    fails: ['reading get(collection, key) compares strings by code point: no collation, no normal form, no patterns'],
    folder: cutKeys(511),
  },
  {
    that: 'truncates keys to 1,800 bytes',
    fails: ['reading get(collection, key) compares strings by code point: no collation, no normal form, no patterns'],
    folder: cutKeys(1800),
  },
  {
    that: 'truncates order fields to 1,024 bytes',
    fails: [
      'reading find(collection, { equal }) on every string: no collation, no normal form, no patterns, no conversion',
    ],
    folder: class extends FolderAdapter {
      override matching(rows: readonly Document[], query: Query) {
        const cut = (value: unknown) => (typeof value === 'string' ? value.slice(0, 1024) : value);
        const equal = query.equal && Object.entries(query.equal);
        if (!equal?.some(([, value]) => typeof value === 'string' && value.length > 1024))
          return super.matching(rows, query);
        return super
          .matching(rows, { order: query.order })
          .filter((row) => equal.every(([field, value]) => cut(row[field]) === cut(value)));
      }
    },
  },
  {
    that: 'loses documents with order fields above 1,024 bytes',
    fails: ['publish(dataset) stores keys and documents that are as long as the limits allow'],
    folder: class extends FolderAdapter {
      override matching(rows: readonly Document[], query: Query) {
        const isLong = (row: Document) =>
          query.order.length > 2 && query.order.some((field) => `${row[field]}`.length > 1024);
        return super.matching(rows, query).filter((row) => !isLong(row));
      }
    },
  },
  {
    that: 'loses a document from a collection of 4,096',
    fails: ['publish(dataset) accepts any number of documents, including the sizes of pages and batches'],
    folder: losing(4096),
  },
  {
    that: 'loses a document from a collection of 10,000',
    fails: ['publish(dataset) accepts any number of documents, including the sizes of pages and batches'],
    folder: losing(10_000),
  },
  {
    that: 'loses a document from a collection of 5,000',
    fails: ['publish(dataset) accepts any number of documents, including the sizes of pages and batches'],
    folder: losing(5000),
  },
  {
    that: 'loses a document from a collection of 256',
    fails: ['publish(dataset) accepts any number of documents, including the sizes of pages and batches'],
    folder: losing(256),
  },
];

// biome-ignore lint/suspicious/noControlCharactersInRegex: the bugs remove control characters
const CONTROL = /[\x01-\x08\x0b\x0c\x0e-\x1f\x7f]/g;

export const fieldBugs: readonly BrokenAdapter[] = [
  {
    that: 'decodes percent signs in field names',
    fails: ['reading documents keeps field names with percent signs and control characters'],
    folder: names((name) => name.replace(/%41/g, 'A')),
  },
  {
    that: 'loses fields that start with two underscores',
    fails: ['reading documents keeps field names that stores and programming languages reserve'],
    folder: names((name) => (name === '__proto__' ? name : name.replace(/^__/, ''))),
  },
  {
    that: 'replaces two apostrophes with one',
    fails: ['reading documents keeps text with quotes, line ends, NUL and emoji'],
    folder: strings((text) => text.replaceAll("''", "'")),
  },
  {
    that: 'returns objects with numbered fields as arrays',
    fails: ['reading documents keeps objects that programming languages use for values of other types'],
    folder: encoding((value) => {
      const isList = typeof value === 'object' && value !== null && Object.keys(value).join() === '0,1';
      return isList ? Object.values(value) : value;
    }),
  },
  {
    that: 'removes percent signs from field names',
    fails: ['reading documents keeps field names with percent signs and control characters'],
    folder: names((name) => name.replaceAll('%', '')),
  },
  {
    that: 'ends field names at NUL',
    fails: ['publish(dataset) stores field names with NUL whole, or rejects them with invalid_dataset'],
    folder: names((name) => name.split('\0')[0]!),
  },
  {
    that: 'removes control characters from field names',
    fails: ['reading documents keeps field names with percent signs and control characters'],
    folder: names((name) => name.replace(CONTROL, '')),
  },
  {
    that: 'removes control characters from strings',
    fails: ['reading documents keeps text with quotes, line ends, NUL and emoji'],
    folder: strings((text) => text.replace(CONTROL, '')),
  },
  {
    that: 'replaces dots in field names',
    fails: ['reading documents keeps field names with dots, dollars, spaces and any letter'],
    folder: names((name) => name.replaceAll('.', '_')),
  },
  {
    that: 'renames fields that start with a dollar sign',
    fails: ['reading documents keeps field names with dots, dollars, spaces and any letter'],
    folder: names((name) => name.replace(/^\$/, '_')),
  },
  {
    that: 'trims field names',
    fails: ['reading documents keeps field names with percent signs and control characters'],
    folder: names((name) => name.trim()),
  },
  {
    that: 'loses fields with an empty name',
    fails: ['reading documents keeps field names with dots, dollars, spaces and any letter'],
    folder: names((name) => name || 'empty'),
  },
  {
    that: 'loses a field named __proto__ at the top of a document',
    fails: [
      'reading documents keeps fields with the names of members of Object.prototype, and does not change the prototype',
    ],
    folder: class extends FolderAdapter {
      override encode(document: Document, name: string) {
        const { ['__proto__']: _, ...rest } = document;
        return super.encode(rest, name);
      }
    },
  },
  {
    that: 'truncates field names to 64 characters',
    fails: ['reading documents keeps field names with dots, dollars, spaces and any letter'],
    folder: names((name) => name.slice(0, 64)),
  },
  {
    that: 'stores -0 as null',
    fails: ['reading documents keeps -0 as -0 or 0, and 0 as 0'],
    folder: numbers((value) => (Object.is(value, -0) ? null : value)),
  },
  {
    that: 'stores -0 as text',
    fails: ['reading documents keeps -0 as -0 or 0, and 0 as 0'],
    folder: numbers((value) => (Object.is(value, -0) ? '-0' : value)),
  },
  {
    that: 'stores 1e21 as text',
    fails: ['reading documents keeps numbers to the last bit, at any depth'],
    folder: numbers((value) => (Math.abs(value) === 1e21 ? String(value) : value)),
  },
  {
    that: 'stores integers above 2^53 as text',
    fails: ['reading documents keeps numbers to the last bit, at any depth'],
    folder: numbers((value) => (Number.isInteger(value) && value > 2 ** 53 ? String(value) : value)),
  },
  {
    that: 'stores 2^53 as 2^53 - 1',
    fails: ['reading documents keeps numbers to the last bit, at any depth'],
    folder: numbers((value) => (value === 2 ** 53 ? value - 1 : value)),
  },
  {
    that: 'stores tiny numbers as 0',
    fails: ['reading documents keeps numbers to the last bit, at any depth'],
    folder: numbers((value) => (Math.abs(value) < 1e-300 ? 0 : value)),
  },
  {
    that: 'keeps 15 digits of numbers',
    fails: ['reading documents keeps numbers to the last bit, at any depth'],
    folder: numbers((value) => Number(value.toPrecision(15))),
  },
  {
    that: 'replaces characters beyond U+FFFF in strings',
    fails: ['reading documents keeps text with quotes, line ends, NUL and emoji'],
    folder: strings((text) => text.replace(/[\u{10000}-\u{10ffff}]/gu, '\ufffd')),
  },
  {
    that: 'replaces line separators in strings',
    fails: ['reading documents keeps text with quotes, line ends, NUL and emoji'],
    folder: strings((text) => text.replace(/[\u2028\u2029]/g, '\n')),
  },
  {
    that: 'removes byte order marks from strings',
    fails: ['reading documents keeps text with quotes, line ends, NUL and emoji'],
    folder: strings((text) => text.replace(/^\ufeff/, '')),
  },
];

export const descriptionBugs: readonly BrokenAdapter[] = [
  {
    that: 'loses an empty list of sources',
    fails: [
      'snapshot() keeps the manifest as it was published: every field, null or absent, and the same text in created',
    ],
    folder: manifests(({ sources, ...rest }) => (sources.length > 0 ? { ...rest, sources } : rest)),
  },
  {
    that: 'replaces characters beyond U+FFFF in manifests',
    fails: [
      'snapshot() keeps the manifest as it was published: every field, null or absent, and the same text in created',
    ],
    folder: manifests(texts((text) => text.replace(/[\u{10000}-\u{10ffff}]/gu, '?'))),
  },
  {
    that: 'truncates text in manifests to 255 characters',
    fails: [
      'snapshot() keeps the manifest as it was published: every field, null or absent, and the same text in created',
    ],
    folder: manifests(texts((text) => text.slice(0, 255))),
  },
  {
    that: 'trims text in manifests',
    fails: [
      'snapshot() keeps the manifest as it was published: every field, null or absent, and the same text in created',
    ],
    folder: manifests(texts((text) => text.trim())),
  },
  {
    that: 'normalizes text in manifests to composed form',
    fails: [
      'snapshot() keeps the manifest as it was published: every field, null or absent, and the same text in created',
    ],
    folder: manifests(texts((text) => text.normalize('NFC'))),
  },
  {
    that: 'stores empty strings in manifests as null',
    fails: [
      'snapshot() keeps the manifest as it was published: every field, null or absent, and the same text in created',
    ],
    folder: manifests((manifest) =>
      JSON.parse(JSON.stringify(manifest), (_name, value) => (value === '' ? null : value)),
    ),
  },
  {
    that: 'sorts the sources of a manifest',
    fails: ['snapshot() has the version and the manifest of its dataset'],
    folder: manifests((manifest) => ({
      ...manifest,
      sources: manifest.sources.toSorted((a, b) => (a.id < b.id ? -1 : 1)),
    })),
  },
  {
    that: 'stores the limits of a source as 32-bit numbers',
    fails: [
      'snapshot() keeps the manifest as it was published: every field, null or absent, and the same text in created',
    ],
    folder: manifests((manifest) => ({
      ...manifest,
      sources: manifest.sources.map((source) => ({ ...source, stale_after_seconds: source.stale_after_seconds | 0 })),
    })),
  },
];

let firstFolder: string | undefined;

export const resourceBugs: readonly BrokenAdapter[] = [
  {
    that: 'leaves a listener on the signal of a publication',
    fails: ['a signal has no listeners after publish(), whether it succeeds or fails'],
    folder: class extends FolderAdapter {
      override async publish(dataset: Dataset, options: PublishOptions = {}) {
        options.signal?.addEventListener('abort', () => {});
        await super.publish(dataset, options);
      }
    },
  },
  {
    that: 'leaves a listener on the signal of a ping',
    fails: ['a signal has no listeners after ping()'],
    folder: class extends FolderAdapter {
      override async ping(signal?: AbortSignal) {
        signal?.addEventListener('abort', () => {});
        await super.ping(signal);
      }
    },
  },
  {
    that: 'leaves a listener on the signal of a publication that fails',
    fails: ['a signal has no listeners after publish(), whether it succeeds or fails'],
    folder: class extends FolderAdapter {
      override async publish(dataset: Dataset, options: PublishOptions = {}) {
        const listen = () => {};
        options.signal?.addEventListener('abort', listen);
        await super.publish(dataset, options);
        options.signal?.removeEventListener('abort', listen);
      }
    },
  },
  {
    that: 'leaves a listener on the signal of a find() that is left early',
    fails: ['a signal has no listeners after find() was left early'],
    folder: class extends FolderAdapter {
      override async *findRows(rowsOf: () => readonly Document[], query: Query, signal?: AbortSignal) {
        const listen = () => {};
        signal?.addEventListener('abort', listen);
        yield* super.findRows(rowsOf, query, signal);
        signal?.removeEventListener('abort', listen);
      }
    },
  },
  {
    that: 'keeps its process running after it was closed',
    fails: ['a process exits after its adapter was opened and closed'],
    folder: class extends FolderAdapter {
      override startTimer() {
        return setInterval(() => this.look(), this.pollMs);
      }
      override async close() {
        this.closed = true;
      }
    },
  },
  {
    that: 'keeps its process running after a publication',
    fails: ['a process exits after its adapter has published, read and pinged, and was closed'],
    folder: class extends FolderAdapter {
      override commit(manifest: Manifest, content: Content) {
        super.commit(manifest, content);
        setInterval(() => {}, 1000);
      }
    },
  },
  {
    that: 'keeps its process running after it was closed during a publication',
    fails: ['a process exits after its adapter was closed during a publication'],
    folder: class extends FolderAdapter {
      override async lock(options: PublishOptions) {
        const timer = setInterval(() => {}, 1000);
        await super.lock(options);
        const { unlock } = this;
        this.unlock = () => {
          if (!this.closed) clearInterval(timer);
          unlock.call(this);
        };
      }
    },
  },
  {
    that: 'reports a problem after each publication',
    fails: ['problem() is not called with a message while the store works'],
    folder: class extends FolderAdapter {
      override commit(manifest: Manifest, content: Content) {
        super.commit(manifest, content);
        this.context.problem('The store is being compacted.');
      }
    },
  },
  {
    that: 'reports a problem when a publication fails',
    fails: ['problem() is not called with a message while the store works'],
    folder: class extends FolderAdapter {
      override async publish(...given: Parameters<FolderAdapter['publish']>) {
        await super.publish(...given).catch((error) => {
          this.context.problem('The last publication failed.');
          throw error;
        });
      }
    },
  },
  {
    that: 'reports a problem when it opens',
    fails: ['problem() is not called with a message while the store works'],
    folder: class extends FolderAdapter {
      override async open() {
        await super.open();
        this.context.problem('Opened.');
      }
    },
  },
  {
    that: 'reports the problem of an empty store and never resolves it',
    fails: ['problem() is called without a message when an empty store has a dataset'],
    folder: class extends FolderAdapter {
      override async open() {
        await super.open();
        if (this.catalog.moves.length === 0) this.context.problem('There is no dataset yet.');
      }
    },
  },
  {
    that: 'reports a problem without a message',
    fails: ['problem() is called without a message when an empty store has a dataset'],
    folder: class extends FolderAdapter {
      override async open() {
        await super.open();
        if (this.catalog.moves.length === 0) this.context.problem('');
      }
    },
  },
  {
    that: 'reports a problem while it is closed',
    fails: ['problem() is not called with a message while the store works'],
    folder: class extends FolderAdapter {
      override async close() {
        await super.close();
        this.context.problem('The store was closed.');
      }
    },
  },
  {
    that: 'resolves every path against the folder of the first adapter',
    fails: ['two stores with the same version keep their own documents'],
    folder: class extends FolderAdapter {
      constructor(context: AdapterContext) {
        firstFolder ??= context.resolvePath('.');
        super({ ...context, resolvePath: (path) => `${firstFolder}/${path}` });
      }
    },
  },
];
