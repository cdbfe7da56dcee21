import { describeAdapter } from '../../../adapters/conformance/index.js';
import json from '../../../adapters/json/index.js';
import type { AdapterContext, Dataset, StorageAdapter } from '../../../core/contracts/storage.js';
import { writeDirectory } from '../../../core/data/write-directory.js';

const contexts = new WeakMap<StorageAdapter, AdapterContext>();

const write = (dataset: Dataset, { collections, resolvePath }: AdapterContext) => {
  const batches = [...collections.keys()].map((name) => [name, dataset.read(name)] as const);
  return writeDirectory(resolvePath('.'), dataset.manifest, Object.fromEntries(batches));
};

describeAdapter({
  name: `${json.name}, with a directory that another program writes`,
  capabilities: { publish: false, versions: false, json: true, totals: true },
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
    contexts.set(adapter, context);
    return adapter;
  },
  async replace(adapter, dataset) {
    await write(dataset, contexts.get(adapter)!);
  },
});
