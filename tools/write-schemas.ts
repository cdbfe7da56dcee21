/** Each build writes `config/schema.json`, and the JSON Schemas of the dataset files in `docs/schemas`. */
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { configSchema } from '../core/config/schema.js';
import type { Collection } from '../core/contracts/dataset.js';
import { manifestSchema } from '../core/data/manifest.js';
import { packageRoot } from '../core/util/package.js';
import { collections } from '../plugins/metro/collections.js';

const list = (fields: readonly string[]): string => fields.map((field) => `"${field}"`).join(', ');

const describe = ({ name, key, references = [] }: Collection): string =>
  [
    `One line of the file of "${name}". Lines are ordered by ${list(key)}, which are unique.`,
    ...references.map(({ fields, to }) => `${list(fields)} must be the key of a line in "${to}".`),
  ].join(' ');

const write = async (path: string, schema: object): Promise<void> => {
  const file = join(packageRoot, path);
  const text = `${JSON.stringify(schema, null, 2)}\n`;
  // `npm start` builds, and the folder can be read-only. An unchanged file is therefore not written.
  if ((await readFile(file, 'utf8').catch(() => undefined)) !== text) await writeFile(file, text);
};

await mkdir(join(packageRoot, 'docs/schemas'), { recursive: true });
await write('config/schema.json', configSchema);
await write('docs/schemas/manifest.schema.json', manifestSchema);
for (const collection of collections) {
  await write(`docs/schemas/${collection.name}.schema.json`, {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    title: collection.name,
    description: describe(collection),
    ...collection.schema,
  });
}
