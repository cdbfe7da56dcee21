/** Creates a key: `node sqlite-key-creator.js FOLDER`. Prints `begun` before it creates the key. */
import { sqliteKeyStore } from '../../adapters/sqlite/key-store.js';
import { newRecord } from '../support/key-record.js';
import { contextIn } from './sqlite-store.js';

const [folder = ''] = process.argv.slice(2);

const store = sqliteKeyStore.create({ path: 'data.db' }, contextIn(folder));
await store.open();
process.stdout.write('begun\n');
await store.insert(newRecord());
process.stdout.write('created\n');
await store.close();
