/** `npm run generate` writes the sample dataset, the map, the API types and the generated pages of docs/reference/. */
import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { apiTypes } from '../cli/commands/types.js';
import { packageRoot } from '../core/util/package.js';
import { buildOutlines } from '../plugins/metro/outlines/outlines.js';
import { writeSample } from '../plugins/metro/sample/sample.js';
import { referencePages } from './reference-pages.js';

const at = (path: string): string => join(packageRoot, path);

// `writeDirectory` keeps the files of the previous version for running services, so they are removed here.
await rm(at('plugins/metro/dataset'), { recursive: true, force: true });
await writeSample(at('plugins/metro/dataset'));
await writeFile(at('plugins/metro/explorer/browser/map.json'), `${JSON.stringify(await buildOutlines())}\n`);
await writeFile(at('plugins/metro/client/api-types.ts'), await apiTypes());
for (const [path, text] of await referencePages()) await writeFile(at(path), text);
