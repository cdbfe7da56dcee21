/** Tests that the adapter follows the storage contract. */
import { describeAdapter } from 'metro-forecast-api/conformance';
import adapter from '../index.js';

/** @param {import('metro-forecast-api/adapter').AdapterContext} context */
const create = (context) => adapter.create({ path: 'store.json' }, context);

describeAdapter({
  name: adapter.name,
  capabilities: adapter.capabilities,
  async create(dataset, context) {
    const store = create(context);
    await store.open();
    await store.publish?.(dataset);
    return store;
  },
  createEmpty: create,
});
