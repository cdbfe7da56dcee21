import { describeAdapter } from '../../../adapters/conformance/index.js';
import memory from '../../../adapters/memory.js';
import type { Collection } from '../../../core/contracts/dataset.js';
import type { AdapterContext, Snapshot, StorageAdapter } from '../../../core/contracts/storage.js';
import { checkedSnapshot } from '../../../core/data/checked-snapshot.js';

const named = (name: string): Collection => ({ name, key: [], schema: {} });

const behindChecks = (snapshot: Snapshot, { collections }: AdapterContext): Snapshot => ({
  ...checkedSnapshot(snapshot, collections),
  get: (name, key, signal) =>
    checkedSnapshot(snapshot, collections, signal).get(collections.get(name) ?? named(name), key),
  find: (name, query, signal) =>
    checkedSnapshot(snapshot, collections, signal).stream(collections.get(name) ?? named(name), query),
  totals: (name, query, signal) =>
    checkedSnapshot(snapshot, collections, signal).totals(collections.get(name) ?? named(name), query),
  searches: snapshot.searches ?? false,
  release: () => snapshot.release(),
});

const createEmpty = (context: AdapterContext): StorageAdapter => {
  const adapter = memory.create({}, context);
  const { list, activate, prune, asOf } = adapter.versions!;
  return {
    open: () => adapter.open(),
    close: () => adapter.close(),
    ping: (signal) => adapter.ping(signal),
    publish: (...given) => adapter.publish!(...given),
    snapshot: () => behindChecks(adapter.snapshot(), context),
    versions: {
      list,
      activate,
      prune,
      async asOf(time) {
        const snapshot = await asOf(time);
        return snapshot && behindChecks(snapshot, context);
      },
    },
  };
};

describeAdapter({
  name: 'memory, behind checkedSnapshot()',
  capabilities: { ...memory.capabilities, json: false },
  createEmpty,
  async create(dataset, context) {
    const adapter = createEmpty(context);
    await adapter.open();
    await adapter.publish!(dataset);
    return adapter;
  },
});
