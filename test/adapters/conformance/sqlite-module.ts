/** Exports the SQLite adapter as a module that a configuration can name. */
import type { AdapterModule } from '../../../core/contracts/storage.js';
import { createSqlite } from './sqlite-adapter.js';

const sqlite: AdapterModule = {
  kind: 'adapter',
  name: 'sqlite',
  version: '1.0.0',
  capabilities: { publish: true, versions: true, durable: true, follows: true, audit: true },
  options: { type: 'object', additionalProperties: false, properties: {} },
  create: (_options, context) => createSqlite(context),
};

export default sqlite;
