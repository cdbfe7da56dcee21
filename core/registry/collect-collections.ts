/** Checks and collects the collections of all plugins. */
import type { Collection } from '../contracts/dataset.js';
import type { Plugin } from '../contracts/plugin.js';
import { checkCollection, referenceErrors } from '../data/check-collection.js';
import { type LoadedPlugin, label, type Registration } from './registration.js';

interface FittedCollections {
  /** What each plugin declares. */
  readonly own: ReadonlyMap<Plugin, readonly Collection[]>;
  /** The collections of all plugins, by name. */
  readonly byName: ReadonlyMap<string, Collection>;
}

/** Collects the collections. Two plugins may declare the same one. */
export const collectCollections = (
  entries: readonly LoadedPlugin[],
  resolvePath: (path: string) => string,
  registration: Registration,
  missing: readonly string[],
): FittedCollections => {
  const own = new Map<Plugin, readonly Collection[]>();
  const owners = new Map<string, { readonly collection: Collection; readonly owner: Plugin }>();
  const before = registration.errors.length;
  for (const entry of entries) {
    const { plugin, options } = entry;
    const { collections } = plugin;
    const declared = registration.listOf(entry, 'collections', () =>
      typeof collections === 'function' ? collections(options, { resolvePath }) : collections,
    );
    own.set(plugin, declared);
    for (const collection of declared) {
      const { name } = collection;
      registration.report(plugin, checkCollection(collection), `collection "${name}": `);
      const other = owners.get(name);
      if (!other) owners.set(name, { collection, owner: plugin });
      else if (!isSameDeclaration(other.collection, collection)) {
        registration.errors.push(`${label(plugin)} and ${label(other.owner)} declare collection "${name}" differently`);
      }
    }
  }
  const byName = new Map([...owners].map(([name, { collection }]) => [name, collection]));
  const areValid = registration.errors.length === before;
  for (const { collection, owner } of areValid ? owners.values() : []) {
    // A plugin that could not be loaded may declare the collection.
    if (missing.length > 0 && collection.references?.some(({ to }) => !byName.has(to))) continue;
    registration.report(owner, referenceErrors(collection, byName), `collection "${collection.name}" `);
  }
  return { own, byName };
};

/** Whether two declarations are equal: two packages may each have a copy. */
const isSameDeclaration = (a: Collection, b: Collection): boolean =>
  a === b || JSON.stringify([a.schema, a.key, a.orders ?? []]) === JSON.stringify([b.schema, b.key, b.orders ?? []]);
