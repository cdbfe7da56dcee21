import { readdir } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { expect } from 'chai';
import Database from 'libsql';
import { anotherDataset, datasetOf, FIRST, SECOND } from '../../adapters/conformance/fixture.js';
import { versionOf } from '../../adapters/conformance/instance.js';
import { ThreadedConnection } from '../../adapters/sqlite/connection.js';
import type { SqliteAdapter } from '../../adapters/sqlite/index.js';
import { sqliteKeyStore } from '../../adapters/sqlite/key-store.js';
import type { Dataset } from '../../core/contracts/storage.js';
import { newRecord } from '../support/key-record.js';
import { giveAway, needsRoot, ownerOf } from '../support/other-user.js';
import { contextIn, SqliteStore } from './sqlite-store.js';

describe('publishing to SQLite', () => {
  let store: SqliteStore;
  beforeEach(async () => {
    store = await SqliteStore.create();
  });
  afterEach(() => store.remove());

  /** Calls `before` once, before the rows are read. */
  const calling = (dataset: Dataset, before: () => void): Dataset => {
    let isCalled = false;
    return {
      ...dataset,
      async *read(name) {
        if (!isCalled) before();
        isCalled = true;
        yield* dataset.read(name);
      },
    };
  };

  it('rejects with conflict if another publisher has deleted its rows', async () => {
    const adapter = await store.opened();
    await adapter.publish(datasetOf());
    const { manifest, read } = anotherDataset();
    const version = async (): Promise<string> => {
      const db = new Database(store.path);
      db.exec('DELETE FROM version WHERE published_at IS NULL');
      db.close();
      return SECOND;
    };
    const imported = { manifest, read, version, written: () => undefined };
    const error = await (adapter as unknown as SqliteAdapter).import(imported).then(
      () => expect.fail('published'),
      (reason: unknown) => reason,
    );
    expect(error).to.have.property('code', 'conflict');
    expect(versionOf(adapter)).to.equal(FIRST);
    expect((await adapter.versions.list()).map(({ version }) => version)).to.deep.equal([FIRST]);
  });

  it('keeps a key that is created during the first publication', async () => {
    const adapter = await store.opened();
    const keys = sqliteKeyStore.create({ path: 'data.db' }, contextIn(store.folder));
    await keys.open();
    const record = newRecord();
    let inserting: Promise<void> | undefined;
    const insert = () => {
      inserting = keys.insert(record);
    };
    await adapter.publish(calling(datasetOf(), insert));
    await inserting;
    expect(await keys.list()).to.deep.equal([record]);
    expect(versionOf(adapter)).to.equal(FIRST);
    await keys.close();
  });

  it('creates the database even if the write-ahead log cannot be enabled', async () => {
    const adapter = await store.opened();
    const { exec } = ThreadedConnection.prototype;
    ThreadedConnection.prototype.exec = async function (this: ThreadedConnection, sql: string) {
      if (sql === 'PRAGMA journal_mode = WAL') throw new Error('The disk is full.');
      await exec.call(this, sql);
    };
    try {
      await adapter.publish(datasetOf());
    } finally {
      ThreadedConnection.prototype.exec = exec;
    }
    expect(versionOf(adapter)).to.equal(FIRST);
    expect(await readdir(store.folder)).to.include.members(['data.db', 'data.db-wal']);
  });

  it('as root, gives new folders the owner of the folder around them', async function () {
    needsRoot(this);
    await giveAway(store.folder);
    const adapter = store.adapter(undefined, 'a/b/data.db');
    await adapter.publish(datasetOf());
    for (const path of ['a', 'a/b', 'a/b/data.db']) {
      expect(await ownerOf(join(store.folder, path)), path).to.match(/^65534:65534 /);
    }
  });

  it('rejects a path in which no folder can be created, such as a path under /proc', async () => {
    const adapter = store.adapter(undefined, relative(store.folder, '/proc/none/below/data.db'));
    const error = await adapter.publish(datasetOf()).catch((reason: unknown) => reason);
    expect(error).to.have.property('code', 'unavailable');
    expect(error).to.have.property('message').that.includes('/proc/none/below/data.db cannot be created');
  });
});
