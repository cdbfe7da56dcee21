import type { Document } from '../../../../core/contracts/dataset.js';
import type { Scalar } from '../../../../core/contracts/storage.js';
import { FolderAdapter } from '../folder-adapter.js';
import { type BrokenAdapter, finding, getting } from './breaking.js';
import { encoding, manifests } from './values.js';

const JOINED = 'reading get(collection, key) distinguishes keys that would be equal if their fields were joined';
const STRINGS =
  'reading get(collection, key) compares strings by code point: no collation, no normal form, no patterns';
const OBJECTS = 'reading documents keeps objects that programming languages use for values of other types';
const MANIFEST =
  'snapshot() keeps the manifest as it was published: every field, null or absent, and the same text in created';

const keyed = (keyText: (key: readonly Scalar[]) => string) =>
  class extends FolderAdapter {
    override keyText(key: readonly Scalar[]) {
      return keyText(key);
    }
  };

const isObject = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null;

const NULLS = ['NULL', 'None', 'N/A', '\\N'];

export const representationBugs: readonly BrokenAdapter[] = [
  {
    that: 'writes the last digit of the length of each key field before the field',
    fails: [JOINED],
    folder: keyed((key) => key.map((value) => `${String(value).length % 10}${value}`).join('')),
  },
  {
    that: 'writes the length of each key field as one byte before the field',
    fails: [JOINED],
    folder: keyed((key) => key.map((value) => `${String.fromCharCode(String(value).length & 0xff)}${value}`).join('')),
  },
  {
    that: 'stores keys as paths and encodes only slashes',
    fails: [STRINGS],
    folder: keyed((key) => key.map((value) => String(value).replaceAll('/', '%2F')).join('/')),
  },
  {
    that: 'looks keys up in an object with a prototype',
    ...getting(async (snapshot, name, key, signal) => {
      const found = await snapshot.get(name, key, signal);
      return found ?? (key.length === 1 ? ({} as Record<string, unknown>)[String(key[0])] : undefined);
    }),
    fails: [STRINGS],
  },
  {
    that: 'stores objects that look like a buffer as bytes',
    fails: [OBJECTS],
    folder: encoding((value) =>
      isObject(value) && value['type'] === 'Buffer' ? Buffer.from(value['data'] as number[]).toString('base64') : value,
    ),
  },
  {
    that: 'stores words for missing values as null',
    fails: ['reading documents keeps strings that look like other types'],
    folder: encoding((value) => (NULLS.includes(value as string) ? null : value)),
  },
  {
    that: 'resolves dots in keys as in paths',
    fails: [STRINGS],
    folder: keyed((key) =>
      key.map((value) => (value === '.' || value === '..' ? '' : JSON.stringify(value))).join('/'),
    ),
  },
  {
    that: 'stores lists of pairs as objects',
    fails: [OBJECTS],
    folder: encoding((value) =>
      Array.isArray(value) && value.length > 0 && value.every((each) => Array.isArray(each) && each.length === 2)
        ? Object.fromEntries(value)
        : value,
    ),
  },
  {
    that: 'stores objects with a length as lists',
    fails: [OBJECTS],
    folder: encoding((value) =>
      isObject(value) && '0' in value && typeof value['length'] === 'number' ? Array.from(value as never) : value,
    ),
  },
  {
    that: 'stores at most 1,000 fields of a document',
    fails: ['reading documents keeps 3,000 fields'],
    folder: class extends FolderAdapter {
      override encode(document: Document, name: string) {
        return super.encode(Object.fromEntries(Object.entries(document).slice(0, 1000)), name);
      }
    },
  },
  {
    that: 'counts rows with 16 bits',
    ...finding((found) => found.slice(0, 65_535)),
    fails: ['reading from a large dataset a collection of 66,000 documents returns each document once and in order'],
  },
  {
    that: 'stores at most 100 sources',
    fails: [MANIFEST],
    folder: manifests((manifest) => ({ ...manifest, sources: manifest.sources.slice(0, 100) })),
  },
  {
    that: 'formats the times of sources',
    fails: [MANIFEST],
    folder: manifests((manifest) => ({
      ...manifest,
      sources: manifest.sources.map(({ last_loaded_at: time, ...source }) => ({
        ...source,
        last_loaded_at: time && new Date(time).toISOString(),
      })),
    })),
  },
];
