import { expect } from 'chai';
import { anotherDataset, datasetOf, FIRST, SECOND } from '../../adapters/conformance/fixture.js';
import { versionOf } from '../../adapters/conformance/instance.js';
import { systemClock } from '../../core/contracts/runtime.js';
import type { Snapshot } from '../../core/contracts/storage.js';
import { SqliteStore } from './sqlite-store.js';

describe('prune() on SQLite', () => {
  let store: SqliteStore;
  let duringChange: (() => void) | undefined;
  beforeEach(async () => {
    store = await SqliteStore.create();
    duringChange = undefined;
  });
  afterEach(() => store.remove());

  const opened = async (pollMs = 20) => {
    const now = () => {
      duringChange?.();
      return Date.now();
    };
    const adapter = store.adapter(undefined, undefined, { pollMs, clock: { ...systemClock, now } });
    await adapter.open();
    return adapter;
  };

  it('asOf() does not return a version whose deletion has not been committed', async () => {
    const adapter = await opened();
    await adapter.publish(datasetOf());
    const { publishedAt } = adapter.snapshot();
    await adapter.publish(anotherDataset());
    await adapter.close();
    const pruner = await opened();
    const found: Promise<Snapshot | undefined>[] = [];
    duringChange = () => void found.push(pruner.versions.asOf(publishedAt));
    expect(await pruner.versions.prune(1)).to.deep.equal([FIRST]);
    expect(await Promise.all(found)).to.deep.equal([undefined]);
  });

  it('switches to a version that another adapter has activated before it deletes the previous version', async () => {
    const adapter = await opened(3_600_000);
    await adapter.publish(datasetOf());
    const publisher = await opened();
    await publisher.publish(anotherDataset());
    const served: string[] = [];
    duringChange = () => void served.push(versionOf(adapter));
    expect(versionOf(adapter)).to.equal(FIRST);
    expect(await adapter.versions.prune(1)).to.deep.equal([FIRST]);
    expect(served).to.deep.equal([SECOND]);
  });
});
