/** `npm run reference` writes the generated pages of docs/reference/. */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { packageRoot } from '../../core/util/package.js';
import { referencePages } from './reference-pages.js';

for (const [path, text] of await referencePages()) await writeFile(join(packageRoot, path), text);
