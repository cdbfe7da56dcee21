/** Which of the plugins that come with the product fit a dataset. */
import { plugins as builtins } from '../app/builtins.js';
import type { Collection } from '../core/contracts/dataset.js';
import type { OpenedDirectory } from '../core/dataset/directory.js';
import { quickCheck } from '../core/dataset/row-check.js';

/** In an order in which each comes after those that it needs. Others want an optional package, or options. */
const CANDIDATES = [
  'markets',
  'forecasts',
  'observations',
  'signals',
  'vintages',
  'status',
  'docs',
  'explore',
] as const;

export interface FittingPlugins {
  readonly plugins: readonly string[];
  /** The dataset's collections that none of them serves. */
  readonly unserved: readonly string[];
}

/** A plugin fits where the dataset has its collections, the first row of each is one that it can read, and its needs fit. */
export const fittingPlugins = async (opened: OpenedDirectory): Promise<FittingPlugins> => {
  const plugins: string[] = [];
  const read = new Set<string>();
  for (const name of CANDIDATES) {
    const { needs = [], collections = [] } = (await builtins[name]!()).default;
    if (typeof collections === 'function') continue;
    const readable = await Promise.all(collections.map((collection) => isReadable(collection, opened)));
    if (!readable.every(Boolean) || !needs.every((need) => plugins.includes(need))) continue;
    plugins.push(name);
    for (const collection of collections) read.add(collection.name);
  }
  return { plugins, unserved: Object.keys(opened.manifest.collections).filter((name) => !read.has(name)) };
};

const isReadable = async ({ name, schema }: Collection, { dataset }: OpenedDirectory): Promise<boolean> => {
  if (!dataset.fileOf(name)) return false;
  for await (const { documents } of dataset.rows(name, () => undefined)) {
    const [first] = documents;
    return first !== undefined && quickCheck(schema)(first);
  }
  return true;
};
