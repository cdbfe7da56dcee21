/** The audit beside a key file: what it holds, and what becomes of it when the disk fails. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { appendFile, chmod, mkdir, mkdtemp, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir, userInfo } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import { pino } from 'pino';
import { systemClock } from '../../../core/contracts/runtime.js';
import type { KeyStoreError } from '../../../core/errors.js';
import { FileKeyStore } from '../../../core/keys/file-key-store.js';
import { newRecord } from '../../support/key-record.js';

const writer = fileURLToPath(new URL('./key-writer.js', import.meta.url));
const TIME = Date.parse('2026-05-01T00:00:00Z');

describe('the audit beside a key file', () => {
  let folder: string;
  let path: string;
  let audit: string;
  let log: string[];
  let stores: FileKeyStore[];

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'audit-'));
    path = join(folder, 'keys.json');
    audit = `${path}.audit.ndjson`;
    log = [];
    stores = [];
  });
  afterEach(async () => {
    await Promise.all(stores.map((store) => store.close()));
    await rm(folder, { recursive: true });
  });

  const openStore = async (file = path): Promise<FileKeyStore> => {
    const logger = pino({ level: 'info' }, { write: (line: string) => log.push(line) });
    const clock = { ...systemClock, now: () => TIME };
    const store = new FileKeyStore({ path: file, pollMs: 1000 }, { logger, clock, resolvePath: (each) => each });
    stores.push(store);
    await store.open();
    return store;
  };
  const lines = async () => (await readFile(audit, 'utf8')).trimEnd().split('\n');
  const rejection = (promise: Promise<unknown>): Promise<KeyStoreError> =>
    promise.then(
      () => {
        throw new Error('It was not refused.');
      },
      (error: KeyStoreError) => error,
    );

  it('has one line for each change, in the order of the changes, and none for what changes nothing', async () => {
    const store = await openStore();
    const record = newRecord({ limit_per_minute: 600 });
    await store.insert(record);
    await store.update(record.id, { limit_per_minute: 1200 });
    await store.update(record.id, { limit_per_minute: 1200 });
    await store.update(record.id, {});
    await store.update(record.id, { expires_at: '2027-01-01T00:00:00Z' });
    await store.update(record.id, { name: 'other', tier: 'partner' });
    await store.update(record.id, { revoked_at: '2026-06-01T00:00:00Z', limit_per_minute: null });
    await store.update(record.id, { revoked_at: null });
    const common = { time: '2026-05-01T00:00:00.000Z', key: record.id, by: userInfo().username };
    const { id: _, hash: __, expires_at: ___, revoked_at: ____, ...told } = record;
    const created = Object.fromEntries(Object.entries(told).map(([name, to]) => [name, { from: null, to }]));
    const entries = await store.audit();
    expect(entries).to.deep.equal([
      { ...common, action: 'create', changes: created },
      { ...common, action: 'limit', changes: { limit_per_minute: { from: 600, to: 1200 } } },
      { ...common, action: 'expire', changes: { expires_at: { from: null, to: '2027-01-01T00:00:00Z' } } },
      {
        ...common,
        action: 'change',
        changes: { name: { from: 'test', to: 'other' }, tier: { from: 'enterprise', to: 'partner' } },
      },
      {
        ...common,
        action: 'revoke',
        changes: {
          limit_per_minute: { from: 1200, to: null },
          revoked_at: { from: null, to: '2026-06-01T00:00:00Z' },
        },
      },
      { ...common, action: 'change', changes: { revoked_at: { from: '2026-06-01T00:00:00Z', to: null } } },
    ]);
    expect((await lines()).map((line) => JSON.parse(line))).to.deep.equal(entries);
    expect(await readFile(audit, 'utf8')).to.not.include(record.hash);
  });

  it('calls a successor of another key a rotation', async () => {
    const store = await openStore();
    await store.insert(newRecord({ shares_limit_of: 'key_first' }));
    const [entry] = await store.audit();
    expect(entry?.action).to.equal('rotate');
    expect(entry?.changes['shares_limit_of']).to.deep.equal({ from: null, to: 'key_first' });
  });

  it('has no line for a change that the store refuses', async () => {
    const store = await openStore();
    const record = newRecord();
    await store.insert(record);
    await rejection(store.insert(record));
    await rejection(store.update('key_none', { name: 'x' }));
    expect(await lines()).to.have.length(1);
  });

  it('is for those who may read the keys, and stands beside the file that a link leads to', async () => {
    await (await openStore()).insert(newRecord());
    expect((await stat(audit)).mode & 0o777).to.equal(0o600);
    await rm(audit);
    await chmod(path, 0o660);
    const elsewhere = join(folder, 'elsewhere');
    await mkdir(elsewhere);
    await symlink(path, join(elsewhere, 'link.json'));
    await (await openStore(join(elsewhere, 'link.json'))).insert(newRecord());
    expect((await stat(audit)).mode & 0o777).to.equal(0o660);
    expect(await lines()).to.have.length(1);
  });

  it('is begun anew where it was moved away', async () => {
    const store = await openStore();
    await store.insert(newRecord());
    await rm(audit);
    await store.insert(newRecord());
    expect(await lines()).to.have.length(1);
  });

  it('loses no line to the one before it that a crash cut short, and names that one', async () => {
    const store = await openStore();
    await store.insert(newRecord());
    await appendFile(audit, '{"time":"2026-05-0');
    await store.insert(newRecord());
    await appendFile(audit, '{"time":"2026-05-02T00:00:00Z","action":"limit"}\n');
    await store.insert(newRecord());
    expect(await store.audit()).to.have.length(3);
    expect(JSON.parse(log[0] ?? '')).to.deep.include({ path: audit, lines: [2, 4] });
    expect(log.join()).to.not.include('2026-05-0"');
  });

  it('has an entry of every key that a process had made when it was killed, and of one more at most', async () => {
    for (const keysBefore of [1, 2, 5, 9]) {
      const child = spawn(process.execPath, [writer, path, 'killed', '10000'], { stdio: 'inherit' });
      try {
        const count = async () => (await readFile(path, 'utf8').catch(() => '')).split('"id"').length - 1;
        const enough = (await count()) + keysBefore;
        while ((await count()) < enough && child.exitCode === null) await delay(1);
      } finally {
        child.kill('SIGKILL');
        await once(child, 'exit');
      }
    }
    const store = await openStore();
    const made = (await store.list()).map(({ id }) => id);
    const told = new Set((await store.audit()).map(({ key }) => key));
    expect(made.length).to.be.at.least(17);
    expect(made.filter((id) => !told.has(id))).to.deep.equal([]);
    expect(told.size - made.length).to.be.within(0, 4);
    await store.insert(newRecord());
    expect(await store.audit()).to.have.length(told.size + 1);
  });

  it('that cannot be written keeps the change from being made', async () => {
    const store = await openStore();
    const record = newRecord();
    await store.insert(record);
    const before = await readFile(path, 'utf8');
    await rm(audit);
    await mkdir(audit);
    const error = await rejection(store.update(record.id, { limit_per_minute: 5 }));
    expect(error.code).to.equal('unavailable');
    expect(error.message).to.equal(
      `Nothing has changed: the audit ${audit} cannot be written: it is a folder; name a file in it.`,
    );
    expect(await readFile(path, 'utf8')).to.equal(before);
    expect(store.lookup(record.hash)).to.deep.equal(record);
    expect((await rejection(store.audit())).message).to.include(`The audit ${audit} cannot be read`);
  });

  it('of a store that was never changed is empty', async () => {
    await writeFile(path, '{"format": 1, "keys": []}');
    expect(await (await openStore()).audit()).to.deep.equal([]);
  });
});
