/** Proves that the JSON adapter conforms, whether it publishes itself or notices what somebody else wrote. */
import json from '../../adapters/json/index.js';
import { describeAdapter } from '../../conformance/index.js';
import type { AdapterContext, Dataset, StorageAdapter } from '../../core/contracts/storage.js';
import { writeDirectory } from '../../core/dataset/write-directory.js';

const createEmpty = (context: AdapterContext) => json.create({ path: '.' }, context);

describeAdapter({
  name: json.name,
  capabilities: json.capabilities,
  createEmpty,
  async create(dataset, context) {
    const adapter = createEmpty(context);
    await adapter.open();
    await adapter.publish!(dataset);
    return adapter;
  },
});

const folders = new WeakMap<StorageAdapter, AdapterContext>();

const write = (dataset: Dataset, { collections, resolvePath }: AdapterContext) => {
  const batches = [...collections.keys()].map((name) => [name, dataset.read(name)] as const);
  return writeDirectory(resolvePath('.'), dataset.manifest, Object.fromEntries(batches));
};

describeAdapter({
  name: `${json.name}, whose directory somebody else writes`,
  capabilities: { publish: false, versions: false },
  async create(dataset, context) {
    await write(dataset, context);
    const inner = json.create({ path: '.', pollMs: 10 }, context);
    const adapter: StorageAdapter = {
      open: () => inner.open(),
      close: () => inner.close(),
      ping: (signal) => inner.ping(signal),
      snapshot: () => inner.snapshot(),
    };
    await adapter.open();
    folders.set(adapter, context);
    return adapter;
  },
  async replace(adapter, dataset) {
    await write(dataset, folders.get(adapter)!);
  },
});
