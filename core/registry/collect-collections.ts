import { type Collection, NAME } from '../contracts/dataset.js';
import type { Plugin } from '../contracts/plugin.js';
import { textFields } from '../data/conditions.js';
import { scalarType } from '../data/scalars.js';
import { assertSchema, compileSchema } from '../validation/compile-schema.js';
import { type LoadedPlugin, label, type Registration } from './registration.js';

interface FittedCollections {
  readonly own: ReadonlyMap<Plugin, readonly Collection[]>;
  readonly byName: ReadonlyMap<string, Collection>;
}

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
    const { plugin, options, isTested = false } = entry;
    const { collections } = plugin;
    const declared = registration.listOf(entry, 'collections', () =>
      typeof collections === 'function' ? collections(options, { resolvePath }) : collections,
    );
    own.set(plugin, declared);
    for (const collection of declared) {
      const { name } = collection;
      if (!isTested) registration.report(plugin, checkCollection(collection), `collection "${name}": `);
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
    // If a plugin failed to load, its collections are unknown, so references to unknown collections are not reported.
    if (missing.length > 0 && collection.references?.some(({ to }) => !byName.has(to))) continue;
    registration.report(owner, referenceErrors(collection, byName), `collection "${collection.name}" `);
  }
  return { own, byName };
};

/** Declarations are compared by content, because each package can contain its own copy. */
const isSameDeclaration = (a: Collection, b: Collection): boolean =>
  a === b || JSON.stringify(declarationOf(a)) === JSON.stringify(declarationOf(b));

const declarationOf = ({ schema, key, orders = [], search = [] }: Collection) => [schema, key, orders, search];

const fieldErrors = (collection: Collection, what: string, fields: readonly string[]): string[] => {
  if (fields.length === 0) return [`${what} has no fields`];
  const errors: string[] = [];
  for (const field of new Set(fields)) {
    if (!NAME.test(field)) errors.push(`${what}: the field name "${field}" must match ${NAME.source}`);
    else if (scalarType(collection, field) === undefined) {
      errors.push(`${what}: "${field}" must be a required property of the schema, of type string, integer or number`);
    }
  }
  if (new Set(fields).size < fields.length) errors.push(`${what} contains a field twice`);
  return errors;
};

const orderErrors = (collection: Collection): string[] => {
  const seen = new Set([collection.key.join()]);
  return (collection.orders ?? []).flatMap((order: readonly string[]) => {
    const what = `order [${order.join(', ')}]`;
    const errors = fieldErrors(collection, what, order);
    const missing = collection.key.filter((field) => !order.includes(field));
    if (missing.length > 0) errors.push(`${what} leaves ties: append the key's "${missing.join('", "')}"`);
    if (seen.has(order.join())) errors.push(`${what} is already declared`);
    seen.add(order.join());
    return errors;
  });
};

const searchErrors = (collection: Collection): string[] => {
  const texts = textFields(collection);
  return (collection.search ?? []).flatMap((field) =>
    texts.includes(field) ? [] : [`search: "${field}" must be a property of the schema whose values are text or null`],
  );
};

const schemaErrors = ({ schema }: Collection): string[] => {
  if (schema['type'] !== 'object') return ['the schema must have "type": "object"'];
  try {
    assertSchema(schema);
    compileSchema(schema);
    return [];
  } catch (error) {
    return [`the schema does not compile: ${(error as Error).message}`];
  }
};

/** MongoDB and SQL end a name at U+0000. */
const nameErrors = ({ schema }: Collection): string[] =>
  Object.keys(schema['properties'] ?? {}).flatMap((name) =>
    name.includes('\0') ? [`the property name ${JSON.stringify(name)} contains the character U+0000`] : [],
  );

export const checkCollection = (collection: Collection): string[] => [
  ...(NAME.test(collection.name) ? [] : [`the name must match ${NAME.source}`]),
  ...schemaErrors(collection),
  ...nameErrors(collection),
  ...fieldErrors(collection, 'the key', collection.key),
  ...orderErrors(collection),
  ...searchErrors(collection),
  ...(collection.references ?? []).flatMap(({ fields, to }) =>
    fieldErrors(collection, `the reference to "${to}"`, fields),
  ),
];

export const referenceErrors = (collection: Collection, byName: ReadonlyMap<string, Collection>): string[] =>
  (collection.references ?? []).flatMap(({ fields, to }) => {
    const target = byName.get(to);
    if (!target) return [`refers to the collection "${to}", which no plugin declares`];
    const types = (declaring: Collection, names: readonly string[]) =>
      names.map((name) => scalarType(declaring, name)).join();
    return types(collection, fields) === types(target, target.key)
      ? []
      : [`has a reference [${fields.join(', ')}] that differs in number or types from the key of "${to}"`];
  });
