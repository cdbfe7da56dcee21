/** `npm run sample`: generates the sample dataset of the package. */
import { rm } from 'node:fs/promises';
import { writeSample } from './sample.js';

const directory = 'plugins/metro/dataset';
// The directory is removed first, because `writeDirectory` keeps the files of the previous version for readers.
await rm(directory, { recursive: true, force: true });
await writeSample(directory);
process.stdout.write(`Wrote the sample into ${directory}\n`);
