import { expect } from 'chai';
import Database from 'libsql';
import { anotherDataset, datasetOf, FIRST, SECOND } from '../../adapters/conformance/fixture.js';
import { versionOf } from '../../adapters/conformance/instance.js';
import { ReadConnection } from '../../adapters/sqlite/connection.js';
import { systemClock } from '../../core/contracts/runtime.js';
import type { Snapshot } from '../../core/contracts/storage.js';
import { SqliteStore } from './sqlite-store.js';

describe('versions in SQLite', () => {
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

  it('prune(): asOf() does not return a version whose deletion has not been committed', async () => {
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

  it('prune() switches to a version that another adapter has activated before it deletes the previous version', async () => {
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

  it('list() reads the versions and the current version in one transaction', async () => {
    const adapter = await opened();
    await adapter.publish(datasetOf());
    const db = new Database(store.path);
    const { rows } = ReadConnection.prototype;
    ReadConnection.prototype.rows = function (this: ReadConnection, ...query: Parameters<typeof rows>) {
      const found = rows.apply(this, query);
      db.exec('INSERT INTO move (version, at) VALUES (99, 99)');
      return found;
    };
    try {
      const listed = await adapter.versions.list();
      expect(listed.map(({ version, current }) => [version, current])).to.deep.equal([[FIRST, true]]);
    } finally {
      ReadConnection.prototype.rows = rows;
      db.close();
    }
  });
});
