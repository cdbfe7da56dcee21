import { describeAdapter } from 'metro-forecast-api/conformance';
import sqlite from 'sqlite-adapter';

describeAdapter({
  name: sqlite.name,
  capabilities: sqlite.capabilities,
  async create(dataset, context) {
    const adapter = sqlite.create({ path: 'store.db' }, context);
    await adapter.open();
    await adapter.publish?.(dataset);
    return adapter;
  },
  createEmpty: (context) => sqlite.create({ path: 'store.db' }, context),
});
