import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { lstat, mkdir, readdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import Database from 'libsql';
import { find } from '../../adapters/conformance/find-rows.js';
import { anotherDataset, crowd, datasetOf, FIRST_CREATED, items, itemsOf } from '../../adapters/conformance/fixture.js';
import { versionOf, withSnapshot } from '../../adapters/conformance/instance.js';
import { CROWD_BLOCKS, CROWD_SEATS } from '../../adapters/conformance/rows.js';
import { sqliteKeyStore } from '../../adapters/sqlite/key-store.js';
import type { StorageError } from '../../core/errors.js';
import { skip } from '../support/skip.js';
import { until } from '../support/until.js';
import { contextIn, rowsToPublish, SqliteStore } from './sqlite-store.js';

/** Times at which the test kills a publisher, as fractions of the duration of a publication. */
const MOMENTS = [0.05, 0.3, 0.5, 0.7, 0.9, 0.95, 1, 1.1];

const FIRST_KEYS = 5;

const SEARCHES = 500;

const start = (name: string, ...values: readonly string[]) => {
  const main = fileURLToPath(new URL(`./${name}.js`, import.meta.url));
  const child = spawn(process.execPath, [main, ...values], { stdio: ['pipe', 'pipe', 'inherit'] });
  return { child, ended: once(child, 'exit'), output: textOf(child) };
};

const textOf = async ({ stdout }: Pick<ChildProcess, 'stdout'>): Promise<string> => {
  let text = '';
  for await (const chunk of stdout!) text += chunk;
  return text;
};

describe('several processes that use the same SQLite file', function () {
  this.timeout(120_000);
  let store: SqliteStore;
  beforeEach(async () => {
    store = await SqliteStore.create();
  });
  afterEach(() => store.remove());

  const tablesIn = (): readonly string[] => {
    const db = new Database(store.path);
    const rows = db.prepare(`SELECT name FROM sqlite_schema WHERE name GLOB 'rows_*' AND type = 'table'`).raw().all();
    db.close();
    return (rows as string[][]).map(([name]) => name!);
  };

  it(`serve a complete version after ${MOMENTS.length} publishers were killed with SIGKILL, and can publish again`, async () => {
    const observer = await store.opened();
    await observer.publish(datasetOf('v0', FIRST_CREATED, rowsToPublish('v0')));
    const startedAt = performance.now();
    await observer.publish(datasetOf('measured', FIRST_CREATED, rowsToPublish('measured')));
    const duration = performance.now() - startedAt;
    for (const [i, moment] of MOMENTS.entries()) {
      const before = versionOf(observer);
      const { child, ended } = start('sqlite-publisher', store.folder, `killed-${i}`);
      await once(child.stdout!, 'data');
      await delay(moment * duration);
      child.kill('SIGKILL');
      await ended;
      const when = `killed at ${moment} of ${Math.round(duration)} ms`;
      const { version } = (await observer.versions.list()).find(({ current }) => current)!;
      expect([before, `killed-${i}`], when).to.include(version);
      await observer.ping();
      const other = await store.opened();
      for (const adapter of [other]) {
        await withSnapshot({ adapter }, async (snapshot) => {
          expect(snapshot.version, when).to.equal(version);
          expect(await find(snapshot, items), when).to.deep.equal(itemsOf(version));
        });
      }
      await observer.publish(anotherDataset(`next-${i}`, FIRST_CREATED));
      expect(versionOf(observer)).to.equal(`next-${i}`);
      const versions = (await observer.versions.list()).length;
      expect(tablesIn(), `no tables are left over, ${when}`).to.have.length(versions * 5);
    }
    const { faults, notes } = await observer.audit.verify();
    expect({ faults, notes }).to.deep.equal({ faults: [], notes: [] });
  });

  it('find no database after the first publisher was killed, and can publish', async () => {
    const { child, ended } = start('sqlite-publisher', store.folder, 'killed');
    const drafts = async () => (await readdir(store.folder)).filter((name) => name.endsWith('.new'));
    const isWriting = async () => (await drafts()).length > 0;
    // The publisher must be killed before the draft is complete.
    await until(isWriting, { everyMs: 1 });
    child.kill('SIGKILL');
    await ended;
    expect(await readdir(store.folder)).not.to.include('data.db');
    const observer = await store.opened();
    await observer.publish(anotherDataset('next', FIRST_CREATED));
    expect(versionOf(observer)).to.equal('next');
    expect(await drafts()).to.deep.equal([]);
  });

  it('publish into a file that another process is creating for its first key', async () => {
    for (let i = 0; i < FIRST_KEYS; i++) {
      const other = await SqliteStore.create();
      try {
        const { child, output } = start('sqlite-key-creator', other.folder);
        const adapter = await other.opened();
        await once(child.stdout!, 'data');
        await until(async () => (await readdir(other.folder)).length > 0, { everyMs: 1 });
        await adapter.publish(anotherDataset('first', FIRST_CREATED));
        expect(await output).to.include('created');
        expect(versionOf(adapter)).to.equal('first');
        const keys = sqliteKeyStore.create({ path: 'data.db' }, contextIn(other.folder));
        expect(await keys.list()).to.have.length(1);
        await keys.close();
      } finally {
        await other.remove();
      }
    }
  });

  it('keep a file that is named almost like a draft', async () => {
    writeFileSync(`${store.path}.new`, 'not a draft');
    await (await store.opened()).publish(anotherDataset('next', FIRST_CREATED));
    expect(await readdir(store.folder)).to.include('data.db.new');
  });

  it('keep a database that was created during the first publication, which is rejected', async () => {
    const publisher = await store.opened();
    const onProgress = () => writeFileSync(store.path, '');
    const publishing = publisher.publish(datasetOf('v0', FIRST_CREATED, rowsToPublish('v0')), { onProgress });
    const error: StorageError = await publishing.then(
      () => expect.fail('published'),
      (thrown) => thrown,
    );
    expect(error.code).to.equal('conflict');
    expect(error.message).to.match(/Another process has created .*data\.db/);
    expect((await readdir(store.folder)).filter((name) => name.includes('.new'))).to.deep.equal([]);
    await publisher.publish(anotherDataset('next', FIRST_CREATED));
    expect(versionOf(publisher)).to.equal('next');
  });

  it('create the target of a symbolic link', async function () {
    if (process.platform === 'win32') skip(this, 'only administrators can create symbolic links on Windows');
    await mkdir(join(store.folder, 'disk'));
    await symlink('disk/other.db', store.path);
    const publisher = await store.opened();
    await publisher.publish(anotherDataset('next', FIRST_CREATED));
    expect(versionOf(publisher)).to.equal('next');
    expect((await lstat(store.path)).isSymbolicLink()).to.equal(true);
    expect(await readdir(join(store.folder, 'disk'))).to.include('other.db');
  });

  it('ignore the log of a database that was deleted', async () => {
    const publisher = await store.opened();
    await publisher.publish(datasetOf('v0', FIRST_CREATED, rowsToPublish('v0')));
    const db = new Database(store.path);
    db.exec(`PRAGMA wal_autocheckpoint = 0; UPDATE version SET name = 'other'`);
    const log = await readFile(`${store.path}-wal`);
    db.close();
    await publisher.close();
    await rm(store.path);
    await writeFile(`${store.path}-wal`, log);
    const next = await store.opened();
    await next.publish(anotherDataset('next', FIRST_CREATED));
    expect(versionOf(next)).to.equal('next');
    expect((await next.audit.verify()).chained).to.equal(1);
  });

  it('read whole versions without an error while other versions are published and deleted', async () => {
    const publisher = await store.opened();
    await publisher.publish(datasetOf('v0', FIRST_CREATED, rowsToPublish('v0')));
    const readers = [start('sqlite-reader', store.folder), start('sqlite-reader', store.folder)];
    try {
      await Promise.all(readers.map(({ child }) => once(child.stdout!, 'data')));
      for (const version of ['v1', 'v2', 'v3', 'v4', 'v5']) {
        await publisher.publish(datasetOf(version, FIRST_CREATED, rowsToPublish(version)));
        await publisher.versions.prune(1);
        await delay(100);
      }
      for (const { child } of readers) child.stdin!.end();
      for (const { output } of readers) {
        const [, line = ''] = (await output).split('\n');
        const { reads, versions, errors } = JSON.parse(line);
        expect(errors).to.deep.equal([]);
        expect(reads).to.be.above(10);
        expect(versions).to.be.above(1);
      }
    } finally {
      for (const { child } of readers) child.kill('SIGKILL');
    }
    expect(tablesIn()).to.have.length(5);
    // If the space of deleted versions were not reused, the file would be larger.
    expect((await stat(store.path)).size).to.be.below(5 * 8_000_000);
  });

  it('keep a snapshot readable after another process has deleted its version', async () => {
    const reader = await store.opened();
    await reader.publish(datasetOf('v0', FIRST_CREATED, rowsToPublish('v0')));
    const held = reader.snapshot();
    const batches = held.find('crowd', { order: crowd.key })[Symbol.asyncIterator]();
    let count = ((await batches.next()).value as readonly object[]).length;
    const { output } = start('sqlite-publisher', store.folder, 'v1');
    expect(await output).to.include('published');
    const db = new Database(store.path);
    db.exec('DELETE FROM version WHERE id = 1; DROP TABLE rows_1_0; DROP TABLE rows_1_4');
    db.close();
    await delay(100);
    expect(versionOf(reader)).to.equal('v1');
    for (let batch = await batches.next(); !batch.done; batch = await batches.next()) count += batch.value.length;
    expect(count).to.equal(CROWD_BLOCKS * CROWD_SEATS);
    expect(await find(held, items)).to.deep.equal(itemsOf('v0'));
    held.release();
  });

  it('search, count, check and publish while another process creates and drops full-text indexes', async () => {
    const adapter = await store.opened(new Map([['items', { ...items, search: ['label'] }]]));
    await adapter.publish(datasetOf('v0', FIRST_CREATED, { items: itemsOf('v0') }));
    const words = ['v0'];
    const { length } = itemsOf('v0');
    const { child } = start('sqlite-index-creator', store.path);
    try {
      await once(child.stdout!, 'data');
      await withSnapshot({ adapter }, async (snapshot) => {
        const [search, count] = [
          () => find(snapshot, items, { words }),
          () => snapshot.totals!('items', { where: [], by: [], words, limit: 1 }),
        ];
        for (let i = 0; i < SEARCHES; i++) {
          const [found, totals] = await Promise.all([search(), count()]);
          expect([found.length, totals]).to.deep.equal([length, [{ values: [], count: length }]]);
          if (i % 50 === 0) expect(await adapter.checkIntegrity!(true)).to.deep.equal([]);
        }
      });
      await adapter.publish(datasetOf('v1', FIRST_CREATED, { items: itemsOf('v1') }));
      await adapter.versions.prune(1);
    } finally {
      child.kill('SIGKILL');
    }
  });

  it('back up the file during a publication: VACUUM INTO copies the version that is current', async () => {
    const publisher = await store.opened();
    await publisher.publish(datasetOf('v0', FIRST_CREATED, rowsToPublish('v0')));
    const publishing = publisher.publish(datasetOf('v1', FIRST_CREATED, rowsToPublish('v1')));
    const db = new Database(store.path);
    db.exec(`VACUUM INTO '${store.folder}/backup.db'`);
    db.close();
    await publishing;
    const restored = store.adapter(undefined, 'backup.db');
    await restored.open();
    await withSnapshot({ adapter: restored }, async (snapshot) => {
      expect(snapshot.version).to.equal('v0');
      expect(await find(snapshot, items)).to.deep.equal(itemsOf('v0'));
    });
    await restored.publish(datasetOf('v2', FIRST_CREATED, rowsToPublish('v2')));
    expect(versionOf(restored)).to.equal('v2');
    expect((await restored.audit.verify()).faults).to.deep.equal([]);
  });
});
