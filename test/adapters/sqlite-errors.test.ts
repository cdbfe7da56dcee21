import { execFileSync } from 'node:child_process';
import { chmod, copyFile, mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { expect } from 'chai';
import Database from 'libsql';
import { eventually } from '../../adapters/conformance/expect.js';
import { find } from '../../adapters/conformance/find-rows.js';
import {
  anotherDataset,
  collections,
  datasetOf,
  FIRST,
  items,
  itemsOf,
  rows,
  SECOND,
  SECOND_CREATED,
  THIRD,
} from '../../adapters/conformance/fixture.js';
import { versionOf, withSnapshot } from '../../adapters/conformance/instance.js';
import { ThreadedConnection } from '../../adapters/sqlite/connection.js';
import { StorageError } from '../../core/errors.js';
import { skip } from '../support/skip.js';
import { SqliteStore } from './sqlite-store.js';

const errorOf = async (work: Promise<unknown>): Promise<StorageError> => {
  const error = await work.then(
    () => expect.fail('The call did not fail.'),
    (reason) => reason,
  );
  expect(error).to.be.instanceOf(StorageError);
  return error;
};

const UNPRIVILEGED = 65_534;

const unprivileged = async <T>(context: Mocha.Context, task: () => Promise<T>): Promise<T> => {
  if (process.getuid?.() !== 0) skip(context, 'only root can change to another user');
  process.setegid!(UNPRIVILEGED);
  process.seteuid!(UNPRIVILEGED);
  try {
    return await task();
  } finally {
    process.seteuid!(0);
    process.setegid!(0);
  }
};

describe('a connection to a locked database', () => {
  it('waits until it can read, and does not block writers afterwards', async () => {
    const store = await SqliteStore.create();
    const other = new Database(store.path);
    other.exec('CREATE TABLE t (a); INSERT INTO t VALUES (1)');
    try {
      await ThreadedConnection.use(store.path, async (connection) => {
        other.exec('BEGIN EXCLUSIVE');
        const reading = connection.rows('SELECT a FROM t');
        await delay(100);
        other.exec('COMMIT');
        expect(await reading).to.deep.equal([[1]]);
        other.exec('INSERT INTO t VALUES (2)');
        await connection.transaction(() => connection.run('INSERT INTO t VALUES (3)'));
        expect(await connection.rows('SELECT count(*) FROM t')).to.deep.equal([[3]]);
      });
    } finally {
      other.close();
      await store.remove();
    }
  });
});

describe('the SQLite adapter with an unusable file', () => {
  let store: SqliteStore;
  beforeEach(async () => {
    store = await SqliteStore.create();
  });
  afterEach(() => store.remove());

  it('waits for the first publication if the file is missing, and does not create it', async () => {
    const adapter = await store.opened();
    expect(store.problems).to.deep.equal(['There is no dataset yet.']);
    expect((await errorOf(adapter.ping())).message).to.include(`There is no database ${store.path}`);
    const missing = { code: 'unavailable', message: `There is no database ${store.path}.` };
    expect(await errorOf(adapter.audit.list())).to.include(missing);
    expect(await errorOf(adapter.checkIntegrity!(true))).to.include(missing);
    expect(await adapter.versions.list()).to.deep.equal([]);
    expect(
      (
        await errorOf(
          readFile(store.path).catch((cause) => Promise.reject(new StorageError('unavailable', '', { cause }))),
        )
      ).cause,
    ).to.have.property('code', 'ENOENT');
    await adapter.publish(datasetOf());
    expect(versionOf(adapter)).to.equal(FIRST);
    expect(store.problems.at(-1)).to.equal(undefined);
  });

  it('rejects a missing folder when it opens, and creates it when it publishes', async () => {
    const adapter = store.adapter(collections, 'missing/data.db');
    const { code, message } = await errorOf(adapter.open());
    expect([code, message]).to.deep.equal([
      'unavailable',
      `The folder of ${join(store.folder, 'missing/data.db')} cannot be read: it does not exist, or its folder does not.`,
    ]);
    await adapter.publish(datasetOf());
    expect(versionOf(adapter)).to.equal(FIRST);
  });

  it('never changes a file that is not a database', async () => {
    const text = 'permit_no,city\n1,Oslo\n'.repeat(100);
    await writeFile(store.path, text);
    const message = `The database ${store.path} cannot be used: it is not an SQLite database.`;
    expect(await errorOf(store.adapter().open())).to.include({ code: 'unavailable', message });
    expect(await errorOf(store.adapter().publish(datasetOf()))).to.include({ code: 'unavailable', message });
    expect(await readFile(store.path, 'utf8')).to.equal(text);
  });

  it('never changes a database that belongs to another application', async () => {
    const other = new Database(store.path);
    other.exec(
      'CREATE TABLE version (id INTEGER PRIMARY KEY, published_at INTEGER); INSERT INTO version VALUES (1, NULL)',
    );
    const message = `The database ${store.path} belongs to another application. Name another file.`;
    expect(await errorOf(store.adapter().open())).to.include({ code: 'unavailable', message });
    expect(await errorOf(store.adapter().publish(datasetOf()))).to.include({ code: 'unavailable', message });
    expect(other.prepare('SELECT count(*) FROM version').raw().get()).to.deep.equal([1]);
    other.close();
  });

  it('rejects a database written by a later version of the program', async () => {
    await (await store.opened()).publish(datasetOf());
    const other = new Database(store.path);
    other.exec('PRAGMA user_version = 2');
    other.close();
    const message = `The database ${store.path} was written by a later version of this program.`;
    expect(await errorOf(store.adapter().open())).to.include({ code: 'unavailable', message });
  });

  it('publishes into an empty file', async () => {
    await writeFile(store.path, '');
    const adapter = await store.opened();
    await adapter.publish(datasetOf());
    expect(versionOf(adapter)).to.equal(FIRST);
  });

  it('reads a file in a folder that the user cannot write to, and cannot publish into it', async function () {
    const owner = await store.opened();
    await owner.publish(datasetOf());
    await owner.close();
    await chmod(store.folder, 0o755);
    await chmod(store.path, 0o644);
    await unprivileged(this, async () => {
      const adapter = await store.opened();
      const found = await withSnapshot({ adapter }, (snapshot) => find(snapshot, items));
      expect(found).to.deep.equal(rows['items']);
      const { code, message } = await errorOf(adapter.publish(anotherDataset()));
      expect(code).to.equal('unavailable');
      expect(message).to.match(/^Nothing can be published into .*data\.db: .*permission/);
    });
  });

  it('names the adapter json for the path of a folder', async () => {
    const { message } = await errorOf(store.adapter(collections, '').open());
    expect(message).to.match(/cannot be used: it is a folder; name a database file, or use the adapter "json"/);
  });

  it('reports a missing permission to read the file', async function () {
    await (await store.opened()).publish(datasetOf());
    await chmod(store.folder, 0o755);
    await chmod(store.path, 0o600);
    await unprivileged(this, async () => {
      const { code, message } = await errorOf(store.adapter().open());
      expect(code).to.equal('unavailable');
      expect(message).to.match(/^The database .*data\.db cannot be used: this user has no permission to open it/);
    });
  });

  it('rejects with unavailable on a full disk, keeps the current version, and publishes again once there is space', async function () {
    const disk = join(store.folder, 'disk');
    await mkdir(disk);
    try {
      execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=1500k', 'none', disk], { stdio: 'ignore' });
    } catch {
      skip(this, 'file systems cannot be mounted here');
    }
    const adapter = store.adapter(collections, 'disk/data.db');
    try {
      await adapter.open();
      await adapter.publish(datasetOf());
      const large = Array.from({ length: 5000 }, (_, i) => ({
        id: `x${String(i).padStart(4, '0')}`,
        grade: 'a',
        rank: i,
        label: 'x'.repeat(500),
      }));
      const error = await errorOf(adapter.publish(datasetOf(SECOND, SECOND_CREATED, { ...rows, items: large })));
      expect([error.code, error.message]).to.deep.equal([
        'unavailable',
        `The database ${join(disk, 'data.db')} cannot be used: the disk is full.`,
      ]);
      expect(versionOf(adapter)).to.equal(FIRST);
      expect(await withSnapshot({ adapter }, (snapshot) => find(snapshot, items))).to.deep.equal(rows['items']);
      execFileSync('mount', ['-o', 'remount,size=16m', disk]);
      await adapter.publish(anotherDataset());
      expect(versionOf(adapter)).to.equal(SECOND);
    } finally {
      await adapter.close();
      execFileSync('umount', ['-l', disk]);
    }
  });

  for (const [how, change] of [
    ['deleted', (path: string) => rm(path)],
    [
      'replaced',
      async (path: string) => {
        await writeFile(`${path}.other`, await readFile(path));
        await rename(`${path}.other`, path);
      },
    ],
  ] as const) {
    it(`keeps serving a database that was ${how}, reports this, and never reads from another file`, async () => {
      const adapter = await store.opened();
      await adapter.publish(datasetOf());
      await change(store.path);
      await eventually('a problem', () => store.problems.at(-1) === 'The database cannot be read.', 1000);
      await withSnapshot({ adapter }, async (snapshot) => {
        expect(await find(snapshot, items)).to.deep.equal(rows['items']);
        const totals = snapshot.totals!(items.name, { where: [], by: [], limit: 1 });
        expect((await errorOf(totals)).code).to.equal('unavailable');
      });
    });
  }

  it('opens a database once another process has released its lock', async () => {
    const copy = await publishedCopy();
    const other = new Database(copy);
    other.exec('PRAGMA journal_mode = DELETE; BEGIN EXCLUSIVE');
    const adapter = store.adapter(collections, 'copy.db');
    const opening = adapter.open();
    await new Promise((resolve) => setTimeout(resolve, 200));
    other.exec('COMMIT; PRAGMA journal_mode = WAL');
    other.close();
    await opening;
    expect(versionOf(adapter)).to.equal(FIRST);
  });

  it('reports a damaged database as unavailable, with advice', async () => {
    const copy = await publishedCopy();
    const bytes = await readFile(copy);
    // Overwrites everything after the first page. Bytes 16 and 17 of an SQLite file contain its page size.
    await writeFile(copy, bytes.fill(0x5a, bytes.readUInt16BE(16)));
    const { code, message } = await errorOf(store.adapter(collections, 'copy.db').open());
    expect([code, message]).to.deep.equal([
      'unavailable',
      `The database ${copy} cannot be used: it is damaged; restore it from a backup.`,
    ]);
  });

  const publishedCopy = async (): Promise<string> => {
    await (await store.opened()).publish(datasetOf());
    const copy = join(store.folder, 'copy.db');
    await copyFile(store.path, copy);
    return copy;
  };
});

describe('a version in SQLite that does not fit', () => {
  let store: SqliteStore;
  beforeEach(async () => {
    store = await SqliteStore.create();
  });
  afterEach(() => store.remove());

  const withOrder = new Map([...collections, ['items', { ...items, orders: [...items.orders!, ['label', 'id']] }]]);

  it('is rejected if it lacks an order, and replaced by the same rows with the order', async () => {
    const before = await store.opened();
    await before.publish(datasetOf());
    await before.close();
    const adapter = store.adapter(withOrder);
    const { code, message } = await errorOf(adapter.open());
    expect([code, message]).to.deep.equal([
      'invalid_dataset',
      `The version ${FIRST} was published without the order [label, id] of "items": publish the dataset again with this configuration.`,
    ]);
    expect((await errorOf(adapter.publish(anotherDataset(FIRST)))).code).to.equal('conflict');
    const repairs: string[] = [];
    await adapter.publish(datasetOf(), { onRepair: (reason) => repairs.push(reason) });
    expect(repairs).to.deep.equal([`version ${FIRST}: it was published without the order [label, id] of "items"`]);
    expect(versionOf(adapter)).to.equal(FIRST);
    expect(await adapter.versions.list()).to.have.length(1);
    expect((await adapter.audit.verify()).faults).to.deep.equal([]);
  });

  it('is not served, and the previous version stays current', async () => {
    const adapter = await store.opened(withOrder);
    await adapter.publish(datasetOf());
    const other = await store.opened();
    await other.publish(anotherDataset());
    await new Promise((resolve) => setTimeout(resolve, 100));
    expect(versionOf(adapter)).to.equal(FIRST);
    expect(store.problems).to.include('A new version was published for another configuration and is not served.');
    await adapter.publish(anotherDataset(THIRD, '2024-05-01T00:00:00Z'));
    expect(versionOf(adapter)).to.equal(THIRD);
    expect(store.problems.at(-1)).to.equal(undefined);
  });

  it('is reported by the audit if its rows were edited, and repaired by a publication', async () => {
    const adapter = await store.opened();
    await adapter.publish(anotherDataset());
    const other = new Database(store.path);
    other.exec(`UPDATE rows_1_0 SET json = '{"id":"edited"}' WHERE rowid = 3`);
    other.close();
    const { notes } = await adapter.audit.verify();
    expect(notes).to.deep.equal([`version "${SECOND}": the collection "items" has other rows where 24 were published`]);
    await adapter.publish(anotherDataset());
    expect(await withSnapshot({ adapter }, (snapshot) => find(snapshot, items))).to.deep.equal(itemsOf(SECOND));
  });
});

describe('an edited audit in SQLite', () => {
  it('is reported by verify()', async () => {
    const store = await SqliteStore.create();
    try {
      const adapter = await store.opened();
      await adapter.publish(datasetOf());
      await adapter.publish(anotherDataset());
      const other = new Database(store.path);
      other.exec(`UPDATE data_audit SET entry = json_set(entry, '$.by', 'mallory') WHERE n = 1`);
      expect((await adapter.audit.verify()).faults).to.deep.equal(['entry 1 was changed after it was written']);
      other.exec('DELETE FROM data_audit WHERE n = 2');
      other.close();
      expect((await adapter.audit.verify()).faults.join()).to.include('the newest entry is missing');
    } finally {
      await store.remove();
    }
  });
});
