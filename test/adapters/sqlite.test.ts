import { describeAdapter } from '../../adapters/conformance/index.js';
import sqlite from '../../adapters/sqlite/index.js';
import type { AdapterContext } from '../../core/contracts/storage.js';

const create = (context: AdapterContext) => sqlite.create({ path: 'data.db', pollMs: 20 }, context);

describeAdapter({
  name: sqlite.name,
  capabilities: sqlite.capabilities,
  async create(dataset, context) {
    const adapter = create(context);
    await adapter.open();
    await adapter.publish!(dataset);
    return adapter;
  },
  createEmpty: create,
});
