/** `npm run schemas`: writes the JSON Schemas of the dataset files to `docs/schemas`. */
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { packageRoot } from '../../core/util/package.js';
import { collections } from '../../plugins/metro/collections.js';
import { schemaFiles } from './schema-files.js';

const [directory = join(packageRoot, 'docs', 'schemas')] = process.argv.slice(2);
await mkdir(directory, { recursive: true });
for (const [name, schema] of Object.entries(schemaFiles(collections))) {
  await writeFile(join(directory, name), `${JSON.stringify(schema, null, 2)}\n`);
}
