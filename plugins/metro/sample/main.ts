/** `npm run sample` generates the sample dataset. */
import { rm } from 'node:fs/promises';
import { writeSample } from './sample.js';

const directory = 'plugins/metro/dataset';
// Without `rm`, the files of the previous version would stay: `writeDirectory` keeps them for running services.
await rm(directory, { recursive: true, force: true });
await writeSample(directory);
process.stdout.write(`Wrote the sample into ${directory}\n`);
