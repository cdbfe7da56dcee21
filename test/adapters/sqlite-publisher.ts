/**
 * Publishes until a test kills this process: `node sqlite-publisher.js FOLDER VERSION`. Prints `begun` before each
 * publication.
 */
import { datasetOf } from '../../adapters/conformance/fixture.js';
import sqlite from '../../adapters/sqlite/index.js';
import { contextIn, rowsToPublish } from './sqlite-store.js';

const [folder = '', version = ''] = process.argv.slice(2);

const adapter = sqlite.create({ path: 'data.db' }, contextIn(folder));
await adapter.open();
process.stdout.write('begun\n');
await adapter.publish!(datasetOf(version, new Date().toISOString(), rowsToPublish(version)));
process.stdout.write('published\n');
await adapter.close();
