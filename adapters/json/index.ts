/** The `json` adapter: a dataset directory, read into memory and polled for changes. */
import type { AdapterModule } from '../../core/contracts/storage.js';
import { packageVersion } from '../../core/files/package.js';
import { JsonAdapter } from './adapter.js';
import { type JsonOptions, jsonOptions } from './options.js';

const json: AdapterModule<JsonOptions> = {
  kind: 'adapter',
  name: 'json',
  version: packageVersion,
  capabilities: { publish: true, versions: false, durable: true, follows: true, audit: true },
  options: jsonOptions,
  create: (options, context) => new JsonAdapter(options, context),
};

export default json;
