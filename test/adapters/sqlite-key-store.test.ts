import { readFile, rename, stat, writeFile } from 'node:fs/promises';
import { setImmediate } from 'node:timers/promises';
import { expect } from 'chai';
import Database from 'libsql';
import { collectGarbage } from '../../adapters/conformance/collect-garbage.js';
import { eventually } from '../../adapters/conformance/expect.js';
import { datasetOf, FIRST, FIRST_CREATED } from '../../adapters/conformance/fixture.js';
import { versionOf } from '../../adapters/conformance/instance.js';
import { sqliteKeyStore } from '../../adapters/sqlite/key-store.js';
import type { KeyStore } from '../../core/contracts/keys.js';
import { KeyStoreError } from '../../core/errors.js';
import { newRecord } from '../support/key-record.js';
import { skip } from '../support/skip.js';
import { contextIn, openFiles, rowsToPublish, SqliteStore } from './sqlite-store.js';

type Store = KeyStore & Required<Pick<KeyStore, 'audit' | 'verifyAudit' | 'noteUse' | 'lastUsed'>>;

const errorOf = async (work: Promise<unknown>): Promise<KeyStoreError> => {
  const error = await work.then(
    () => expect.fail('The call did not fail.'),
    (reason) => reason,
  );
  expect(error).to.be.instanceOf(KeyStoreError);
  return error;
};

describe('the key store in SQLite', () => {
  let files: SqliteStore;
  let stores: KeyStore[];

  beforeEach(async () => {
    files = await SqliteStore.create();
    stores = [];
  });
  afterEach(async () => {
    for (const store of stores) await store.close();
    await files.remove();
  });

  const create = (): Store => {
    const store = sqliteKeyStore.create({ path: 'data.db', pollMs: 50 }, contextIn(files.folder)) as Store;
    stores.push(store);
    return store;
  };
  const opened = async (): Promise<Store> => {
    const store = create();
    await store.open();
    return store;
  };
  const edit = (sql: string): void => {
    const db = new Database(files.path);
    db.exec(sql);
    db.close();
  };

  it('keeps its keys and reports an error when the database is replaced, so that no revocation is missed', async () => {
    const store = await opened();
    const record = newRecord();
    await store.insert(record);
    await writeFile(`${files.path}.other`, await readFile(files.path));
    await rename(`${files.path}.other`, files.path);
    await eventually('an error', () => store.health!().ok === false, 1000);
    expect(store.lookup(record.hash)).to.deep.equal(record);
    expect((await errorOf(store.list())).message).to.match(/was deleted or replaced while the service was using it/);
  });

  it('has no keys if the file is missing, and creates it with mode 0600 for the first key', async () => {
    const store = await opened();
    expect(await store.list()).to.deep.equal([]);
    expect(await store.audit()).to.deep.equal([]);
    expect([...(await store.lastUsed())]).to.deep.equal([]);
    const record = newRecord();
    await store.insert(record);
    expect((await stat(files.path)).mode & 0o777).to.equal(0o600);
    expect(store.lookup(record.hash)).to.deep.equal(record);
  });

  it('insert() and update() take effect before they resolve, and list() returns the oldest key first', async () => {
    const store = await opened();
    const changes: number[] = [];
    store.onChange(() => changes.push(1));
    const newer = newRecord({ created_at: '2026-02-01T00:00:00.000Z', pepper: 2 });
    const older = newRecord({ name: 'été', shares_limit_of: newer.id });
    await store.insert(newer);
    await store.insert(older);
    expect(await store.list()).to.deep.equal([older, newer]);
    const changed = await store.update(newer.id, { limit_per_minute: 5, revoked_at: '2026-03-01T00:00:00.000Z' });
    expect(changed).to.deep.equal({ ...newer, limit_per_minute: 5, revoked_at: '2026-03-01T00:00:00.000Z' });
    expect(store.lookup(newer.hash)).to.deep.equal(changed);
    expect(changes).to.have.length(3);
  });

  it('rejects unknown and repeated ids and hashes, and changes nothing', async () => {
    const store = await opened();
    const record = newRecord();
    await store.insert(record);
    expect((await errorOf(store.update('key_none', { name: 'x' }))).code).to.equal('unknown_key');
    expect((await errorOf(store.insert(newRecord({ id: record.id })))).code).to.equal('conflict');
    expect((await errorOf(store.insert(newRecord({ hash: record.hash })))).code).to.equal('conflict');
    expect(await store.list()).to.deep.equal([record]);
    expect(await store.audit()).to.have.length(1);
  });

  it('sees the changes of another process at the next poll', async () => {
    const [one, other] = [await opened(), await opened()];
    const record = newRecord();
    await one.insert(record);
    await eventually('the other store has the key', () => other.lookup(record.hash) !== undefined, 5000);
    await other.update(record.id, { revoked_at: '2026-03-01T00:00:00.000Z' });
    await eventually('the first store sees the change', () => one.lookup(record.hash)?.revoked_at != null, 5000);
  });

  it('applies changes made in SQL, and reports them in the audit', async () => {
    const store = await opened();
    const [kept, deleted] = [newRecord(), newRecord()];
    await store.insert(deleted);
    await store.insert(kept);
    edit(`UPDATE api_key SET record = json_set(record, '$.tier', 'gold') WHERE id = '${kept.id}'`);
    await eventually('the edit is seen', () => store.lookup(kept.hash)?.tier === 'gold', 5000);
    edit(`DELETE FROM api_key WHERE id = '${deleted.id}'`);
    await eventually('the deletion is seen', () => store.lookup(deleted.hash) === undefined, 5000);
    const { faults } = await store.verifyAudit();
    expect(faults).to.deep.equal([
      `${kept.id} (tier) was edited by hand: it has no entry`,
      `${deleted.id} (removed) was edited by hand: it has no entry`,
    ]);
  });

  it('sees a key that replaced the newest one in the same transaction', async () => {
    const store = await opened();
    const [before, after] = [newRecord(), newRecord()];
    await store.insert(before);
    const { id, hash, ...fields } = after;
    const values = `'${id}', '${hash}', '${JSON.stringify(fields)}'`;
    edit(`BEGIN; DELETE FROM api_key; INSERT INTO api_key (id, hash, record) VALUES (${values}); COMMIT`);
    await eventually('the new key is found', () => store.lookup(hash) !== undefined, 5000);
    expect(store.lookup(before.hash)).to.equal(undefined);
  });

  it('finds a key by its hash after its id was edited', async () => {
    const store = await opened();
    const record = newRecord();
    await store.insert(record);
    const { id } = newRecord();
    edit(`UPDATE api_key SET id = '${id}'`);
    await eventually('the new id is listed', async () => (await store.list())[0]?.id === id, 5000);
    expect(store.lookup(record.hash)).to.deep.equal({ ...record, id });
  });

  it('loses no change, and keeps one chain of audit entries, when several stores write at the same time', async () => {
    const [one, other] = [await opened(), await opened()];
    const records = Array.from({ length: 30 }, () => newRecord());
    await Promise.all(records.map((record, i) => (i % 2 ? one : other).insert(record)));
    expect(await one.list()).to.have.length(30);
    const { chained, faults } = await other.verifyAudit();
    expect({ chained, faults }).to.deep.equal({ chained: 30, faults: [] });
  });

  it('keeps the latest time at which each key was used', async () => {
    const [one, other] = [await opened(), await opened()];
    await one.noteUse(
      new Map([
        ['a', 100],
        ['b', 200],
      ]),
    );
    await other.noteUse(
      new Map([
        ['a', 50],
        ['b', 300],
      ]),
    );
    expect([...(await one.lastUsed())]).to.deep.equal([
      ['a', 100],
      ['b', 300],
    ]);
  });

  it('shares its file with a dataset, and changes keys during a publication', async () => {
    const store = await opened();
    const record = newRecord();
    await store.insert(record);
    const adapter = await files.opened();
    expect(files.problems).to.deep.equal(['There is no dataset yet.']);
    const publishing = adapter.publish(datasetOf(FIRST, FIRST_CREATED, rowsToPublish(FIRST)));
    for (let i = 1; i <= 5; i++) await store.update(record.id, { limit_per_minute: i });
    await publishing;
    expect(versionOf(adapter)).to.equal(FIRST);
    expect(store.lookup(record.hash)?.limit_per_minute).to.equal(5);
    expect((await store.verifyAudit()).faults).to.deep.equal([]);
    expect((await adapter.audit.verify()).faults).to.deep.equal([]);
  });

  it('does not open the file again after close()', async function () {
    if (process.platform !== 'linux') skip(this, 'only Linux lists open files in /proc');
    const store = await opened();
    const inserting = store.insert(newRecord());
    await store.close();
    await inserting;
    // The driver closes a file only after the garbage collector has collected the last statement.
    await setImmediate();
    collectGarbage();
    await eventually('the file is closed', async () => (await openFiles(files.path)) === 0, 5000);
  });

  it('does not open a file that is not a database', async () => {
    await writeFile(files.path, 'name,key\n'.repeat(100));
    const { code, message } = await errorOf(create().open());
    expect(code).to.equal('unavailable');
    expect(message).to.equal(`The database ${files.path} cannot be used: it is not an SQLite database.`);
  });
});
