/** Creates the JSON Schemas of the files in a dataset directory, from the declarations that validation uses. */
import type { Collection } from '../../core/contracts/dataset.js';
import type { JsonSchema } from '../../core/contracts/json-schema.js';
import { manifestSchema } from '../../core/data/manifest.js';

const list = (fields: readonly string[]): string => fields.map((field) => `"${field}"`).join(', ');

const describe = ({ name, key, references = [] }: Collection): string =>
  [
    `One line of the file of "${name}". Lines are ordered by ${list(key)}, which are unique.`,
    ...references.map(({ fields, to }) => `${list(fields)} must be the key of a line in "${to}".`),
  ].join(' ');

/** Returns schemas by file name, for the lines of each collection and for the manifest. */
export const schemaFiles = (collections: Iterable<Collection>): Readonly<Record<string, JsonSchema>> => {
  const files: Record<string, JsonSchema> = { 'manifest.schema.json': manifestSchema };
  for (const collection of collections) {
    files[`${collection.name}.schema.json`] = {
      $schema: 'https://json-schema.org/draft/2020-12/schema',
      title: collection.name,
      description: describe(collection),
      ...collection.schema,
    };
  }
  return files;
};
