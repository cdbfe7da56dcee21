/** Tests that the adapter follows the storage contract. */
import { writeFile } from 'node:fs/promises';
import { describeAdapter } from 'metro-forecast-api/conformance';
import adapter from '../index.js';

let file = '';

/** @param {import('metro-forecast-api/adapter').AdapterContext} context */
const create = (context) => {
  file = context.resolvePath('store.json');
  return adapter.create({ path: file }, context);
};

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
  damage: () => writeFile(file, '{'),
});
