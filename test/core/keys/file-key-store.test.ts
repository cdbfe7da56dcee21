import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdtemp, readdir, readFile, rename, rm, stat, symlink, unlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import { pino } from 'pino';
import type { KeyRecord } from '../../../core/contracts/keys.js';
import { systemClock } from '../../../core/contracts/runtime.js';
import { KeyStoreError } from '../../../core/errors.js';
import { FileKeyStore } from '../../../core/keys/file-key-store.js';
import { createKey } from '../../../core/keys/key.js';
import { writeFileAtomic } from '../../../core/util/write-atomic.js';
import { formatKeyFile } from '../../support/key-file.js';
import { newRecord } from '../../support/key-record.js';
import { until } from '../../support/until.js';

const writer = fileURLToPath(new URL('./key-writer.js', import.meta.url));

const rejection = async (promise: Promise<unknown>): Promise<KeyStoreError> => {
  const error = await promise.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  expect(error).to.be.instanceOf(KeyStoreError);
  return error as KeyStoreError;
};

describe('FileKeyStore', () => {
  let folder: string;
  let path: string;
  let log: string[];
  let stores: FileKeyStore[];
  let children: ChildProcess[];

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'keys-'));
    path = join(folder, 'keys.json');
    log = [];
    stores = [];
    children = [];
  });
  afterEach(async () => {
    for (const child of children) child.kill('SIGKILL');
    await Promise.all(stores.map((store) => store.close()));
    await chmod(folder, 0o700);
    await rm(folder, { recursive: true });
  });

  const newStore = (file = path): FileKeyStore => {
    const logger = pino({ level: 'info' }, { write: (line: string) => log.push(line) });
    const store = new FileKeyStore(
      { path: file, pollMs: 50 },
      { logger, clock: systemClock, resolvePath: (each) => each },
    );
    stores.push(store);
    return store;
  };
  const openStore = async (file?: string): Promise<FileKeyStore> => {
    const store = newStore(file);
    await store.open();
    return store;
  };
  const start = (...args: string[]): ChildProcess => {
    const child = spawn(process.execPath, [writer, path, ...args], { stdio: ['ignore', 'pipe', 'inherit'] });
    children.push(child);
    return child;
  };

  it('applies and logs a manual edit, and does not log its own changes', async () => {
    const store = await openStore();
    const records = ['A', 'B', 'C'].map((name) => newRecord({ name }));
    const [first, second, third] = records as [KeyRecord, KeyRecord, KeyRecord];
    const other = newStore();
    for (const record of records) await other.insert(record);
    await other.update(first.id, { limit_per_minute: 7 });
    await until(() => store.lookup(first.hash)?.limit_per_minute === 7, { withinMs: 5000 });
    expect(log.join()).to.not.include('by hand');
    const added = newRecord({ name: 'D' });
    const edited = [{ ...first, limit_per_minute: 9 }, second, added];
    await writeFile(path, formatKeyFile(edited));
    await until(() => store.lookup(first.hash)?.limit_per_minute === 9, { withinMs: 5000 });
    expect(store.lookup(third.hash)).to.equal(undefined);
    await until(() => log.some((line) => line.includes('by hand')), { withinMs: 5000 });
    const { keys, msg } = JSON.parse(log.find((line) => line.includes('by hand')) ?? '{}');
    expect(msg).to.match(/^the key file was edited by hand/);
    expect(keys).to.deep.equal([`${first.id} (limit_per_minute)`, `${added.id} (new)`, `${third.id} (removed)`]);
    await until(async () => (await store.audit()).length === 7, { withinMs: 5000 });
    const found = (await store.audit())
      .slice(4)
      .map(({ action, key, changes }) => [action, key, Object.keys(changes)[0]]);
    expect(found).to.deep.equal([
      ['edit', first.id, 'limit_per_minute'],
      ['edit', added.id, 'name'],
      ['remove', third.id, undefined],
    ]);
    expect((await store.verifyAudit()).faults).to.deep.equal([]);
  });

  it('has no keys if the file is missing, and creates it with mode 0600 for the first key', async () => {
    const store = await openStore();
    expect(await store.list()).to.deep.equal([]);
    const record = newRecord();
    await store.insert(record);
    expect(store.lookup(record.hash)).to.deep.equal(record);
    expect((await stat(path)).mode & 0o777).to.equal(0o600);
    expect(await readdir(folder)).to.have.members([
      'keys.json',
      'keys.json.audit.ndjson',
      'keys.json.audit.ndjson.head',
    ]);
  });

  it('keeps the permissions of the file, and a symbolic link to it', async () => {
    const store = await openStore();
    await store.insert(newRecord());
    await chmod(path, 0o640);
    const link = join(folder, 'link.json');
    await symlink(path, link);
    const other = await openStore(link);
    await other.insert(newRecord());
    expect((await stat(path)).mode & 0o777).to.equal(0o640);
    expect(await store.list()).to.have.length(2);
  });

  it('updates a record by its id, and rejects unknown and duplicate ids', async () => {
    const store = await openStore();
    const record = newRecord();
    await store.insert(record);
    const changed = { ...record, limit_per_minute: 60, revoked_at: '2026-02-01T00:00:00Z' };
    expect(await store.update(record.id, { limit_per_minute: 60, revoked_at: '2026-02-01T00:00:00Z' })).to.deep.equal(
      changed,
    );
    expect(store.lookup(record.hash)).to.deep.equal(changed);
    expect((await rejection(store.update('key_none', {}))).code).to.equal('unknown_key');
    expect((await rejection(store.insert({ ...newRecord(), id: record.id }))).code).to.equal('conflict');
    expect((await rejection(store.insert({ ...newRecord(), hash: record.hash }))).code).to.equal('conflict');
    expect(await (await openStore()).list()).to.deep.equal([changed]);
  });

  it('stores the pepper version of a key', async () => {
    const record = newRecord({ pepper: 2 });
    await (await openStore()).insert(record);
    expect(await (await openStore()).list()).to.deep.equal([record]);
  });

  it('loses no key when three processes write, and readers see complete files only', async () => {
    const reader = await openStore();
    const writers = ['a', 'b', 'c'].map((name) => start(name, '15'));
    const ends = await Promise.all(writers.map((child) => once(child, 'exit')));
    expect(ends.map(([code]) => code)).to.deep.equal([0, 0, 0]);
    const names = (await reader.list()).map(({ name }) => name);
    const expected = ['a', 'b', 'c'].flatMap((name) => Array.from({ length: 15 }, (_, i) => `${name} ${i}`));
    expect(names).to.have.members(expected).and.have.length(45);
    expect(log).to.deep.equal([]);
    // The reader can still hold the lock, because it compares the last change with the audit log.
    await until(async () => !(await readdir(folder)).includes('keys.json.lock'), { withinMs: 5000 });
    expect(await readdir(folder)).to.have.members([
      'keys.json',
      'keys.json.audit.ndjson',
      'keys.json.audit.ndjson.head',
    ]);
  });

  it('loses no change when one process makes many changes at the same time', async () => {
    const store = await openStore();
    await Promise.all(Array.from({ length: 20 }, () => store.insert(newRecord())));
    expect(await store.list()).to.have.length(20);
  });

  it('continues after a writer was killed while it held the lock', async () => {
    const child = start('-', 'stop');
    await once(child.stdout as NodeJS.ReadableStream, 'data');
    expect(await readdir(folder)).to.deep.equal(['keys.json.lock']);
    child.kill('SIGKILL');
    await once(child, 'exit');
    const store = await openStore();
    await store.insert(newRecord());
    expect(await readdir(folder)).to.have.members([
      'keys.json',
      'keys.json.audit.ndjson',
      'keys.json.audit.ndjson.head',
    ]);
  });

  it('reads the changes of another process, and calls the listeners', async () => {
    const store = await openStore();
    let calls = 0;
    store.onChange(() => calls++);
    const child = start('other', '1');
    await once(child, 'exit');
    await until(() => calls > 0, { withinMs: 5000 });
    const [record] = JSON.parse(await readFile(path, 'utf8')).keys;
    expect(store.lookup(record.hash)).to.deep.equal(record);
  });

  const first = newRecord();
  const broken: [name: string, content: string, reason: string][] = [
    ['that is truncated', formatKeyFile([first]).slice(0, -20), 'line 4'],
    ['that is empty', '', 'line 1, column 1: the text ends where a value is expected'],
    ['of another format', '{"format":2,"keys":[]}', 'format: 2 is not allowed; it must be 1'],
    ['with a repeated id', formatKeyFile([first, { ...newRecord(), id: first.id }]), 'keys[1].id: repeats keys[0].id'],
    [
      'with a repeated key',
      formatKeyFile([first, { ...newRecord(), hash: first.hash }]),
      'keys[1].hash: repeats keys[0].hash',
    ],
    [
      'with a date of no calendar',
      formatKeyFile([newRecord({ expires_at: '2026-02-30T00:00:00Z' })]),
      'keys[0].expires_at: "2026-02-30T00:00:00Z" is not allowed',
    ],
    [
      'with a mistyped field',
      JSON.stringify({ format: 1, keys: [{ ...first, teir: 'x' }] }),
      'keys[0].teir: there is no such setting; did you mean "tier"?',
    ],
  ];
  for (const [name, content, reason] of broken) {
    it(`rejects a file ${name}, logs the reason once, and keeps the previous keys until it is repaired`, async () => {
      const store = await openStore();
      const record = newRecord();
      await store.insert(record);
      const good = await readFile(path, 'utf8');
      // If the write were not atomic, a poll could read an empty file and report a different error.
      await writeFileAtomic(path, content);
      await until(() => !store.health().ok, { withinMs: 5000 });
      await delay(120);
      expect(store.lookup(record.hash)).to.deep.equal(record);
      expect(store.health().message).to.not.include(folder);
      expect(log).to.have.length(1);
      expect(JSON.parse(log[0] ?? '').err.message).to.include(reason);
      expect((await rejection(store.insert(newRecord()))).message).to.include(reason);
      expect(await readFile(path, 'utf8')).to.equal(content);
      await writeFile(path, good);
      await until(() => store.health().ok, { withinMs: 5000 });
      expect(store.lookup(record.hash)).to.deep.equal(record);
    });

    it(`does not open on a file ${name}`, async () => {
      await writeFile(path, content);
      const error = await rejection(newStore().open());
      expect(error.code).to.equal('invalid_file');
      expect(error.message).to.include(path).and.include(reason);
    });
  }

  it('keeps its keys when the file disappears and when it reappears', async () => {
    const store = await openStore();
    const record = newRecord();
    await store.insert(record);
    await rename(path, `${path}.away`);
    await until(() => !store.health().ok, { withinMs: 5000 });
    expect(store.lookup(record.hash)).to.deep.equal(record);
    expect(log.join()).to.include('it has disappeared');
    await rename(`${path}.away`, path);
    await until(() => store.health().ok, { withinMs: 5000 });
    await unlink(path);
    await until(() => !store.health().ok, { withinMs: 5000 });
  });

  it('reports that the folder of the file does not exist', async () => {
    const store = await openStore(join(folder, 'missing', 'keys.json'));
    const error = await rejection(store.insert(newRecord()));
    expect(error.code).to.equal('unavailable');
    expect(error.message).to.include('cannot be written: it does not exist, or its folder does not');
  });

  it('masks a key that is in the file by mistake', async () => {
    const { key } = createKey();
    const record = newRecord();
    for (const wrong of [
      { ...record, hash: key },
      { ...record, created_at: key },
      { ...record, [key]: 1 },
      { ...record, tier: [key] },
    ]) {
      await writeFile(path, JSON.stringify({ format: 1, keys: [wrong] }));
      const { message, stack } = await rejection(newStore().open());
      expect(`${message}${stack}`).to.include('keys[0]').and.not.include(key.slice(4, 24));
    }
    await writeFile(path, `{"format":1,"keys":[{"hash":"${key}" ${key}`);
    const { message, cause } = await rejection(newStore().open());
    expect(`${message}${cause}`).to.not.include(key.slice(4, 24));
  });
});
