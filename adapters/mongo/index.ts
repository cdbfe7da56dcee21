/** The `mongo` adapter: any number of replicas over one MongoDB, which serve one version at a time. */
import type { AdapterModule } from '../../core/contracts/storage.js';
import { packageVersion } from '../../core/files/package.js';
import { MongoAdapter } from './adapter.js';
import { checkConnection } from './connection.js';
import { type Given, type MongoOptions, mongoOptions, withDefaults } from './options.js';

const mongo: AdapterModule<Given<MongoOptions>> = {
  kind: 'adapter',
  name: 'mongo',
  version: packageVersion,
  capabilities: { publish: true, versions: true, durable: true, follows: true, audit: true },
  options: mongoOptions,
  check: checkConnection,
  create: (options, context) => new MongoAdapter(withDefaults<MongoOptions>(mongoOptions, options), context),
};

export default mongo;
