import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { appendFile, chmod, mkdir, mkdtemp, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { hostname, tmpdir, userInfo } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import { pino } from 'pino';
import { systemClock } from '../../../core/contracts/runtime.js';
import type { KeyStoreError } from '../../../core/errors.js';
import { FileKeyStore } from '../../../core/keys/file-key-store.js';
import { newRecord } from '../../support/key-record.js';

const writer = fileURLToPath(new URL('../keys/key-writer.js', import.meta.url));
const TIME = Date.parse('2026-05-01T00:00:00Z');

describe('the audit of a key file', () => {
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
        throw new Error('The change was not rejected.');
      },
      (error: KeyStoreError) => error,
    );

  it('has one line per change, in order, and none for an update without a change', async () => {
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
    const { id: _, hash: __, expires_at: ___, revoked_at: ____, ...recorded } = record;
    const created = Object.fromEntries(Object.entries(recorded).map(([name, to]) => [name, { from: null, to }]));
    const entries = await store.audit();
    const plain = entries.map(({ previous, hash, host, fingerprint, ...entry }) => entry);
    expect(plain).to.deep.equal([
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
    expect(entries.map(({ host }) => host?.split(' ')[0])).to.deep.equal(entries.map(() => hostname()));
    expect(entries.map(({ previous }) => previous)).to.deep.equal([
      null,
      ...entries.slice(0, -1).map(({ hash }) => hash),
    ]);
    expect(await readFile(audit, 'utf8')).to.not.include(record.hash);
  });

  it('records the creation of a successor as a rotation', async () => {
    const store = await openStore();
    await store.insert(newRecord({ shares_limit_of: 'key_first' }));
    const [entry] = await store.audit();
    expect(entry?.action).to.equal('rotate');
    expect(entry?.changes['shares_limit_of']).to.deep.equal({ from: null, to: 'key_first' });
  });

  it('has no entry for a rejected change', async () => {
    const store = await openStore();
    const record = newRecord();
    await store.insert(record);
    await rejection(store.insert(record));
    await rejection(store.update('key_none', { name: 'x' }));
    expect(await lines()).to.have.length(1);
  });

  it('has the permissions of the key file, and is next to the target of a symbolic link', async () => {
    await (await openStore()).insert(newRecord());
    expect((await stat(audit)).mode & 0o777).to.equal(0o600);
    expect((await stat(`${audit}.head`)).mode & 0o777).to.equal(0o600);
    await rm(path);
    await rm(audit);
    await rm(`${audit}.head`);
    await writeFile(path, '{"format": 1, "keys": []}');
    await chmod(path, 0o660);
    const elsewhere = join(folder, 'elsewhere');
    await mkdir(elsewhere);
    await symlink(path, join(elsewhere, 'link.json'));
    await (await openStore(join(elsewhere, 'link.json'))).insert(newRecord());
    expect((await stat(audit)).mode & 0o777).to.equal(0o660);
    expect((await stat(`${audit}.head`)).mode & 0o777).to.equal(0o660);
    expect(await lines()).to.have.length(1);
  });

  it('keeps the entries after a truncated line, and logs the numbers of unreadable lines', async () => {
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

  it('has an entry for every key that a killed process created, and at most one more', async () => {
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
    const recorded = new Set((await store.audit()).map(({ key }) => key));
    expect(made.length).to.be.at.least(17);
    expect(made.filter((id) => !recorded.has(id))).to.deep.equal([]);
    // Each process undoes the unfinished change of its killed predecessor, so only the last change can be unfinished.
    expect(recorded.size - made.length).to.be.within(0, 1);
    await store.insert(newRecord());
    expect(await store.audit()).to.have.length(made.length + 1);
    expect((await store.verifyAudit()).faults).to.deep.equal([]);
  });

  it('prevents a change if it cannot be written', async () => {
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

  it('is empty for a store that has never changed', async () => {
    await writeFile(path, '{"format": 1, "keys": []}');
    expect(await (await openStore()).audit()).to.deep.equal([]);
  });

  describe('verifyAudit()', () => {
    const grow = async (changes = 5): Promise<FileKeyStore> => {
      const store = await openStore();
      const record = newRecord();
      await store.insert(record);
      for (let limit = 1; limit < changes; limit++) await store.update(record.id, { limit_per_minute: limit });
      return store;
    };
    const faults = async (store: FileKeyStore) => (await store.verifyAudit()).faults;
    const writeLines = (all: readonly string[]) => writeFile(audit, `${all.join('\n')}\n`);

    it('accepts the entries of the store, and returns the hash of the newest entry', async () => {
      const store = await grow();
      const { hash } = JSON.parse((await lines()).at(-1)!);
      expect(await store.verifyAudit()).to.deep.equal({ chained: 5, head: hash, notes: [], faults: [] });
    });

    it('detects each line that was removed, repeated, swapped or changed in any field', async () => {
      const store = await grow();
      const whole = await lines();
      for (const i of whole.keys()) {
        const line = whole[i]!;
        const broken: string[][] = [whole.toSpliced(i, 1), whole.toSpliced(i, 0, line)];
        if (i > 0) broken.push(whole.with(i, whole[i - 1]!).with(i - 1, line));
        for (const [name, value] of Object.entries(JSON.parse(line))) {
          const other = typeof value === 'string' ? `${value}x` : { limit_per_minute: { from: 1, to: 77 } };
          broken.push(whole.with(i, JSON.stringify({ ...JSON.parse(line), [name]: other })));
        }
        for (const each of broken) {
          await writeLines(each);
          expect(await faults(store), each.join('\n')).to.not.deep.equal([]);
        }
      }
      await writeLines(whole);
      expect(await faults(store)).to.deep.equal([]);
    });

    it('detects that the newest lines are missing, even after the next change', async () => {
      const store = await grow();
      const whole = await lines();
      const { hash } = JSON.parse(whole.at(-1)!);
      await writeLines(whole.slice(0, -2));
      expect(await faults(store)).to.include(`the newest entry is missing: its hash is ${hash}`);
      await store.insert(newRecord());
      expect((await faults(store))[0]).to.match(/^line 4 does not follow the previous entry/);
      await rm(audit);
      expect((await faults(store))[0]).to.match(/^the newest entry is missing/);
      await rm(`${audit}.head`);
      await writeLines(whole);
      expect(await faults(store)).to.include(
        'the hash of the newest entry is missing: newer entries may have been removed with it',
      );
    });

    it('detects an entry without a hash', async () => {
      const store = await grow(2);
      const whole = await lines();
      const { previous, hash, ...entry } = JSON.parse(whole[0]!);
      for (const at of [0, 1, 2]) {
        await writeLines(whole.toSpliced(at, 0, JSON.stringify(entry)));
        expect((await faults(store))[0]).to.equal(`line ${at + 1} has no hash: it was inserted by hand`);
      }
    });

    it('notes a truncated line if the chain continues after it', async () => {
      const store = await grow(2);
      await appendFile(audit, '{"time":"2026-05-0');
      await store.insert(newRecord());
      expect(await store.verifyAudit()).to.deep.include({
        chained: 3,
        faults: [],
        notes: ['line 3 is not an entry: the process that wrote it was stopped'],
      });
      const whole = await lines();
      await writeLines(whole.with(1, whole[1]!.slice(0, 40)));
      expect(await faults(store)).to.not.deep.equal([]);
    });

    it('accepts an entry whose change was not made because of a crash, and the next change undoes it', async () => {
      const store = await grow(4);
      const [keys, head, entries] = [await readFile(path), await readFile(`${audit}.head`), await store.audit()];
      const id = entries[0]!.key;
      await store.update(id, { limit_per_minute: 99 });
      await writeFile(path, keys);
      await writeFile(`${audit}.head`, head);
      expect(await store.verifyAudit()).to.deep.include({
        faults: [],
        notes: [`the newest change, of ${id}, was not made, or is still being made`],
      });
      await store.update(id, { limit_per_minute: 100 });
      expect(await store.verifyAudit()).to.deep.include({ chained: 7, faults: [], notes: [] });
      expect((await store.audit()).slice(4).map(({ changes }) => changes)).to.deep.equal([
        { limit_per_minute: { from: 3, to: 100 } },
      ]);
    });

    it('detects each field that was edited by hand, until an entry records the edit', async () => {
      await (await grow(3)).close();
      const file = await readFile(path, 'utf8');
      const [record] = JSON.parse(file).keys;
      const edits: object[] = [
        { name: 'x' },
        { tier: 'partner' },
        { limit_per_minute: null },
        { expires_at: '2030-01-01T00:00:00Z' },
        { revoked_at: '2026-01-01T00:00:00Z' },
        { shares_limit_of: 'key_other' },
        { hash: '0'.repeat(64) },
      ];
      for (const edit of edits) {
        await writeFile(path, JSON.stringify({ format: 1, keys: [{ ...record, ...edit }] }));
        const [name] = Object.keys(edit);
        const other = await openStore();
        expect(await faults(other)).to.deep.equal([`${record.id} (${name}) was edited by hand: it has no entry`]);
        await other.close();
      }
      const store = await openStore();
      await store.insert(newRecord());
      expect(await faults(store)).to.deep.equal([]);
      expect((await store.audit()).find(({ action }) => action === 'edit')).to.include({ key: record.id });
      expect(await readFile(audit, 'utf8')).to.not.include('0'.repeat(64));
    });

    it('finds no errors while several processes write', async () => {
      const store = await grow(1);
      const children = ['a', 'b'].map((name) =>
        spawn(process.execPath, [writer, path, name, '15'], { stdio: 'inherit' }),
      );
      const ended = Promise.all(children.map((child) => once(child, 'exit')));
      let isOver = false;
      void ended.then(() => {
        isOver = true;
      });
      while (!isOver) expect(await faults(store)).to.deep.equal([]);
      expect(await store.verifyAudit()).to.deep.include({ chained: 31, faults: [] });
    });
  });
});
