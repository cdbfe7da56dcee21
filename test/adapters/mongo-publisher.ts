/**
 * Publishes until a test kills this process: `node mongo-publisher.js URI DATABASE VERSION`. Prints `begun` before each
 * publication.
 */
import { datasetOf, itemsOf } from '../../adapters/conformance/fixture.js';
import { Replicas, rowsToPublish, SHORT_LOCK } from './mongo-replica.js';

const [uri = '', database = '', version = ''] = process.argv.slice(2);

const { adapter } = await new Replicas(uri, database).open(SHORT_LOCK);
const content = { ...rowsToPublish(), items: itemsOf(version) };
process.stdout.write('begun\n');
await adapter.publish(datasetOf(version, new Date().toISOString(), content));
await adapter.close();
