/** `npm run sample` generates the sample dataset. */
import { rm } from 'node:fs/promises';
import { writeSample } from './sample.js';

const directory = 'plugins/metro/dataset';
// `writeDirectory` keeps the files of the previous version for readers, so the directory is removed first.
await rm(directory, { recursive: true, force: true });
await writeSample(directory);
process.stdout.write(`Wrote the sample into ${directory}\n`);
