/**
 * Defines adapters that miss changes of other adapters, large batches, publication times, and differences between groups
 * or field names.
 */
import { readFileSync } from 'node:fs';
import type { Manifest } from '../../../../core/contracts/dataset.js';
import type { Capabilities, Group } from '../../../../core/contracts/storage.js';
import { inSnapshot } from '../breakable.js';
import { type Catalog, FolderAdapter } from '../folder-adapter.js';
import { type BrokenAdapter, publishing, reading } from './breaking.js';
import { totalsOf } from './totals.js';

const NAME_AGAIN =
  'another adapter over the same store follows a version that replaces the current one under the same name';
const BATCHES = 'publish(dataset) accepts a batch of any length';
const GROUPS = 'reading totals(collection, query) distinguishes any strings and numbers, and does not join values';
const LATER =
  'publish(dataset) uses a later publication time than that of the previous version, even if the clock is earlier';
const PUBLISHED = 'random reads return every document of each version as it was published';

const WITHOUT_VERSIONS: Capabilities = {
  publish: true,
  versions: false,
  durable: true,
  follows: { withinMs: 500, pollMs: 20 },
};

/** Looks at the catalog only if the name of the current version has changed. */
class ByName extends FolderAdapter {
  #name: string | undefined;
  override look() {
    let name: string | undefined;
    try {
      name = (JSON.parse(readFileSync(this.path('catalog.json'), 'utf8')) as Catalog).moves.at(-1)?.version;
    } catch {}
    if (name === undefined || name !== this.#name) super.look();
    this.#name = name;
  }
  override save(catalog: Catalog) {
    this.#name = undefined;
    super.save(catalog);
  }
}

/** Does not compare times from the clock with the time of the previous version. */
class ByClock extends FolderAdapter {
  override timeOf(manifest: Manifest) {
    const last = this.lastMove();
    const isNewer = !last || new Date(manifest.created) > last;
    return isNewer ? manifest.created : new Date(this.context.clock.now()).toISOString();
  }
}

export const missedBugs: readonly BrokenAdapter[] = [
  { that: 'notices other adapters only by the name of their version', folder: ByName, fails: [NAME_AGAIN] },
  {
    that: 'passes each batch to a function as arguments',
    ...publishing((adapter, dataset, options) =>
      adapter.publish!(
        {
          ...dataset,
          async *read(name) {
            for await (const batch of dataset.read(name)) yield Array.of(...batch);
          },
        },
        options,
      ),
    ),
    fails: [BATCHES],
  },
  {
    that: 'joins the values of a group with a hyphen',
    fault: inSnapshot((snapshot) => ({
      async totals(name, query, signal) {
        const groups = new Map<string, Group>();
        for (const group of await totalsOf(snapshot, name, query, signal)) {
          const key = group.values.join('-');
          const known = groups.get(key);
          groups.set(key, known ? { ...known, count: known.count + group.count } : group);
        }
        return [...groups.values()];
      },
    })),
    fails: [GROUPS],
  },
  {
    that: 'replaces full-width dots in the names of nested fields',
    ...reading((document) => {
      const isObject = (value: unknown) => typeof value === 'object' && value !== null && !Array.isArray(value);
      return Object.fromEntries(
        Object.entries(document).map(([name, value]) =>
          isObject(value) ? [name, JSON.parse(JSON.stringify(value).replaceAll('\uff0e', '.'))] : [name, value],
        ),
      );
    }),
    fails: [PUBLISHED],
  },
  {
    that: 'uses a clock that can be earlier than the previous version, and has no versions',
    folder: ByClock,
    capabilities: WITHOUT_VERSIONS,
    fails: [LATER],
  },
];
