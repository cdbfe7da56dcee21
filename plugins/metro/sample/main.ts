/** Writes the embedded sample anew, into the package's `plugins/metro/dataset/`. */
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { packageRoot } from '../../../core/util/package.js';
import { writeSample } from './sample.js';

const directory = join(packageRoot, 'plugins/metro/dataset');
// Files of the version before would stay for its readers.
await rm(directory, { recursive: true, force: true });
await writeSample(directory);
process.stdout.write(`Wrote the sample into ${directory}\n`);
