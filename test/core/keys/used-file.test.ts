import { chmod, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { systemClock } from '../../../core/contracts/runtime.js';
import { keyUse } from '../../../core/keys/authenticator.js';
import { FileKeyStore } from '../../../core/keys/file-key-store.js';
import { keptLogger } from '../../support/kept-logger.js';
import { newRecord } from '../../support/key-record.js';

const TIME = Date.parse('2026-05-01T12:00:00Z');

describe('<key file>.used.json', () => {
  let folder: string;
  let path: string;
  let stores: FileKeyStore[];

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'used-'));
    path = join(folder, 'keys.json');
    stores = [];
  });
  afterEach(async () => {
    await Promise.all(stores.map((store) => store.close()));
    await rm(folder, { recursive: true, force: true });
  });

  const openStore = async (): Promise<FileKeyStore> => {
    const context = { logger: keptLogger(), clock: systemClock, resolvePath: (each: string) => each };
    const store = new FileKeyStore({ path, pollMs: 50 }, context);
    stores.push(store);
    await store.open();
    return store;
  };

  it('keeps the latest time for each key, even when several processes write', async () => {
    const writers = await Promise.all([openStore(), openStore(), openStore()]);
    await Promise.all(
      writers.map((store, i) =>
        store.noteUse(
          new Map([
            ['key_shared', TIME + i],
            [`key_${i}`, TIME],
          ]),
        ),
      ),
    );
    await writers[0]!.noteUse(new Map([['key_shared', TIME - 1]]));
    const expected = { key_shared: TIME + 2, key_0: TIME, key_1: TIME, key_2: TIME };
    expect(Object.fromEntries(await writers[0]!.lastUsed())).to.deep.equal(expected);
    expect(await readdir(folder)).to.deep.equal(['keys.json.used.json']);
  });

  it('is written on shutdown, even if a process crashed while it took the lock', async () => {
    const store = await openStore();
    await writeFile(`${path}.used.json.lock`, '');
    const use = keyUse({ write: (times) => store.noteUse(times), logger: keptLogger() });
    use.of('key_1').time = TIME;
    await use.close();
    expect(Object.fromEntries(await store.lastUsed())).to.deep.equal({ key_1: TIME });
    expect(await readdir(folder)).to.deep.equal(['keys.json.used.json']);
  });

  it('does not change the key file, and calls no listeners', async () => {
    const store = await openStore();
    const record = newRecord();
    await store.insert(record);
    await chmod(path, 0o640);
    await store.list();
    const before = await stat(path, { bigint: true });
    let calls = 0;
    store.onChange(() => calls++);
    await store.noteUse(new Map([[record.id, TIME]]));
    await store.list();
    expect(await stat(path, { bigint: true })).to.deep.include({ ino: before.ino, mtimeNs: before.mtimeNs });
    expect(calls).to.equal(0);
    expect((await stat(`${path}.used.json`)).mode & 0o777).to.equal(0o640);
    expect(await readFile(`${path}.used.json`, 'utf8')).to.include(`"${record.id}": "2026-05-01T12:00:00.000Z"`);
  });

  for (const content of ['', '{"format": 1', 'null', '{}', '{"last_used_at": {"key_1": "soon", "key_2": 7}}']) {
    it(`is ignored and replaced if its content is ${JSON.stringify(content)}`, async () => {
      const store = await openStore();
      await writeFile(`${path}.used.json`, content);
      expect((await store.lastUsed()).get('key_1')).to.equal(undefined);
      await store.noteUse(new Map([['key_1', TIME]]));
      expect((await store.lastUsed()).get('key_1')).to.equal(TIME);
    });
  }

  it('does not exist before the first use, and noteUse() rejects if it cannot be written', async () => {
    const store = await openStore();
    expect((await store.lastUsed()).size).to.equal(0);
    await rm(folder, { recursive: true });
    const error: NodeJS.ErrnoException = await store.noteUse(new Map([['key_1', TIME]])).then(
      () => expect.fail('The write did not fail.'),
      (reason) => reason,
    );
    expect(error.code).to.equal('ENOENT');
  });
});
