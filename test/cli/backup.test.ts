import { cp, mkdir, mkdtemp, readdir, readFile, rm, stat, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { pack } from '../../cli/backup/archive.js';
import { withStores } from '../../cli/backup/with-stores.js';
import { writeBackup } from '../../cli/backup/write-backup.js';
import { register as registerExport } from '../../cli/commands/export.js';
import { register as registerImport } from '../../cli/commands/import-backup.js';
import { register as registerKeys } from '../../cli/commands/keys.js';
import { register as registerPublish } from '../../cli/commands/publish.js';
import { register as registerSnapshots } from '../../cli/commands/snapshots.js';
import { openDirectory } from '../../core/data/directory.js';
import { createApp } from '../../index.js';
import { writeVersions } from '../support/dataset-version.js';
import { interrupt } from '../support/interrupt.js';
import { expecting, runCommand } from '../support/run-command.js';
import { mongoForTests, uniqueName } from '../support/services.js';

const STORES = ['json', 'sqlite', 'mongo'] as const;
type Store = (typeof STORES)[number];

const CURRENT = [
  '/markets',
  '/markets?format=csv',
  '/markets/26420/history',
  '/forecasts',
  '/observations?series_id=metro_hpi',
];
const EARLIER = ['/vintages', '/markets?as_of=2026-01-01', '/markets?as_of=2030-01-01'];

type Register = typeof registerExport;

class Deployment {
  readonly config: string;
  readonly #folder: string;

  private constructor(folder: string) {
    this.#folder = folder;
    this.config = join(folder, 'api.json');
  }

  static async create(parent: string, store: Store): Promise<Deployment> {
    const folder = await mkdtemp(join(parent, `${store}-`));
    const options =
      store === 'mongo'
        ? { uri: (await mongoForTests()).url, database: uniqueName('backup') }
        : { path: store === 'json' ? 'data' : 'data.db' };
    const keys = store === 'json' ? { use: 'file', options: { path: 'keys.json' } } : { use: store, options };
    const config = {
      adapter: { use: store, options },
      plugins: ['status', 'markets', 'forecasts', 'observations', 'vintages'],
      auth: { keys },
      log: { level: 'error' },
    };
    const deployment = new Deployment(folder);
    await writeFile(deployment.config, JSON.stringify(config));
    return deployment;
  }

  get data(): string {
    return join(this.#folder, 'data');
  }

  run(register: Register, ...args: string[]) {
    return expecting((...words) => runCommand(register, ['--config', this.config, ...words])).done(...args);
  }

  async refused(register: Register, ...args: string[]): Promise<string> {
    return expecting((...words) => runCommand(register, ['--config', this.config, ...words])).refused(...args);
  }

  async json(register: Register, ...args: string[]) {
    return JSON.parse((await this.run(register, ...args, '--json')).stdout);
  }

  async responses(paths: readonly string[], keys: readonly string[], { withTime = true } = {}): Promise<unknown[]> {
    const app = await createApp(this.config);
    try {
      const found: unknown[] = [];
      for (const key of keys) {
        for (const path of paths) {
          const url = `/api/v1${path}`;
          const { statusCode, headers, body } = await app.inject({ url, headers: { Authorization: `Bearer ${key}` } });
          // The Last-Modified of `/vintages` is not compared, because it can be the start time of the service.
          const time = withTime && path !== '/vintages' ? headers['last-modified'] : undefined;
          found.push([path, statusCode, time, headers.etag, headers['snapshot-version'], body]);
        }
      }
      return found;
    } finally {
      await app.close();
    }
  }

  async verified(): Promise<readonly string[]> {
    const heads: string[] = [];
    for (const [register, name] of [
      [registerSnapshots, 'snapshots'],
      [registerKeys, 'keys'],
    ] as const) {
      const { faults, head } = await this.json(register, name, 'audit', '--verify');
      expect(faults).to.deep.equal([]);
      heads.push(head);
    }
    return heads;
  }
}

describe('export and import-backup', function () {
  this.timeout(240_000);
  let folder: string;
  let versions: Awaited<ReturnType<typeof writeVersions>>;
  const sources = new Map<Store, { deployment: Deployment; keys: readonly string[] }>();

  const fill = async (deployment: Deployment, store: Store): Promise<readonly string[]> => {
    for (const directory of versions.directories) await deployment.run(registerPublish, 'publish', directory);
    if (store !== 'json') {
      await deployment.run(registerSnapshots, 'snapshots', 'activate', 'version-2');
      await deployment.run(registerSnapshots, 'snapshots', 'prune', '--keep', '2');
    }
    const create = async (name: string) =>
      (await deployment.run(registerKeys, 'keys', 'create', '--name', name)).stdout.trim();
    const keys = [await create('valid'), await create('revoked'), await create('rotated')];
    const [, revoked, rotated] = await deployment.json(registerKeys, 'keys', 'list');
    await deployment.run(registerKeys, 'keys', 'revoke', revoked.id);
    const { created } = await deployment.json(registerKeys, 'keys', 'rotate', rotated.id, '--overlap', '1h');
    return [...keys, created.key];
  };

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'backup-'));
    versions = await writeVersions([1, 2, 3]);
    for (const store of STORES) {
      const deployment = await Deployment.create(folder, store);
      sources.set(store, { deployment, keys: await fill(deployment, store) });
      const path = join(folder, store === 'sqlite' ? `${store}.tar.gz` : store);
      await deployment.run(registerExport, 'export', path);
    }
  });

  after(async () => {
    await versions?.remove();
    await rm(folder, { recursive: true, force: true });
  });

  const backupOf = (store: Store) => join(folder, store === 'sqlite' ? `${store}.tar.gz` : store);

  for (const from of STORES) {
    for (const to of STORES) {
      it(`moves everything from ${from} to ${to}: the same responses, valid keys and verified audits`, async () => {
        const { deployment, keys } = sources.get(from)!;
        const target = await Deployment.create(folder, to);
        const { stderr } = await target.run(registerImport, 'import-backup', backupOf(from));
        // The check prints one line. This line must not contain the folder into which an archive is unpacked.
        expect(stderr.match(/^checking .*/gm)?.join()).to.match(/^checking the backup: \d\d files$/);
        const paths = from === 'json' || to === 'json' ? CURRENT : [...CURRENT, ...EARLIER];
        // The `json` adapter has no separate publication time and uses the creation time of the dataset.
        const options = { withTime: to !== 'json' };
        const responses = await deployment.responses(paths, keys, options);
        expect(await target.responses(paths, keys, options)).to.deep.equal(responses);
        const count = (status: number) => responses.filter((response) => (response as unknown[])[1] === status).length;
        expect(count(401)).to.equal(paths.length);
        expect(count(200)).to.be.at.least((keys.length - 1) * (paths.length - 1));
        const [data, keyHead] = await deployment.verified();
        const [restoredData, restoredKeys] = await target.verified();
        expect(restoredKeys).to.equal(keyHead);
        // The backup of a directory contains only the current version. If the new store keeps versions, the import
        // adds audit entries for the deletion of earlier versions.
        if (from !== 'json' || to === 'json') expect(restoredData).to.equal(data);
        await target.run(registerKeys, 'keys', 'create', '--name', 'later');
        await target.run(registerPublish, 'publish', versions.directories[0]!);
        await target.verified();
      });
    }
  }

  it('contains no key and no secret, and other users cannot read it', async () => {
    const { deployment, keys } = sources.get('json')!;
    const path = join(folder, 'private');
    const config = JSON.parse(await readFile(deployment.config, 'utf8'));
    config.auth.peppers = { 1: 'the-pepper-that-must-not-appear-anywhere' };
    await writeFile(deployment.config, JSON.stringify(config));
    await deployment.run(registerExport, 'export', path);
    delete config.auth.peppers;
    await writeFile(deployment.config, JSON.stringify(config));
    expect((await stat(path)).mode & 0o077).to.equal(0);
    expect((await stat(backupOf('sqlite'))).mode & 0o077).to.equal(0);
    for (const name of await readdir(path, { recursive: true })) {
      const file = join(path, name);
      if ((await stat(file)).isDirectory()) continue;
      const text = await readFile(file, 'utf8');
      for (const secret of [...keys, 'the-pepper']) expect(text).to.not.contain(secret);
    }
  });

  it('refuses a path that already exists, and does not change it', async () => {
    const { deployment } = sources.get('json')!;
    expect(await deployment.refused(registerExport, 'export', backupOf('json'))).to.contain('is not empty');
    expect(await deployment.refused(registerExport, 'export', '/proc/none/below')).to.contain(
      'below cannot be created',
    );
    expect(await deployment.refused(registerExport, 'export', deployment.config)).to.contain('is not a directory');
    const archive = backupOf('sqlite');
    const content = await readFile(archive);
    expect(await deployment.refused(registerExport, 'export', archive)).to.contain('exists: name a new file');
    expect(await readFile(archive)).to.deep.equal(content);
  });

  it('keeps an archive that another program creates during the export', async () => {
    const archive = join(folder, 'meanwhile.tar');
    const packing = pack(archive, () => writeFile(archive, 'another backup'));
    expect(String(await packing.catch((error: unknown) => error))).to.contain('exists: name a new file');
    expect(await readFile(archive, 'utf8')).to.equal('another backup');
    expect((await readdir(folder)).filter((name) => name.endsWith('.tmp'))).to.deep.equal([]);
  });

  it('removes what it created after a failure, and keeps a directory that existed', async () => {
    const existing = await mkdtemp(join(folder, 'existing-'));
    const created = join(existing, 'new', 'backup');
    const deployment = await Deployment.create(folder, 'json');
    await deployment.run(registerPublish, 'publish', versions.directories[0]!);
    // The export reads the audit of the keys after it has written the dataset.
    await mkdir(join(deployment.data, '..', 'keys.json.audit.ndjson'));
    for (const path of [created, existing]) {
      expect(await deployment.refused(registerExport, 'export', path)).to.contain('keys.json.audit.ndjson');
      expect(await readdir(existing)).to.deep.equal([]);
    }
  });

  it('contains the listed versions if another version is published during the export', async () => {
    const { config } = await Deployment.create(folder, 'sqlite');
    const [first, second] = await Promise.all(versions.directories.map(openDirectory));
    const omissions: string[] = [];
    const { backup } = await withStores(config, async ({ storage, keyStore }) => {
      const { adapter } = storage;
      await adapter.publish!(first!.dataset);
      const history = adapter.history!;
      const { read } = history;
      let reads = 0;
      history.read = async () => {
        const found = await read();
        // The export reads the history twice before it writes the versions.
        if (++reads === 2) await adapter.publish!(second!.dataset);
        return found;
      };
      const options = {
        signal: new AbortController().signal,
        onRows() {},
        onOmission: (text: string) => omissions.push(text),
      };
      const written = await writeBackup(
        await mkdtemp(join(folder, 'busy-')),
        { storage, keyStore, config: {}, declarations: [] },
        options,
      );
      const current = adapter.snapshot();
      expect(current.version).to.equal('version-2');
      current.release();
      return written;
    });
    expect(omissions).to.deep.equal([]);
    expect(backup.versions.map(({ version }) => version)).to.deep.equal(['version-1']);
  });

  describe('a restore', () => {
    let target: Deployment;
    let copy: string;

    beforeEach(async () => {
      target = await Deployment.create(folder, 'json');
      copy = await mkdtemp(join(folder, 'copy-'));
      await cp(backupOf('mongo'), copy, { recursive: true });
    });

    const isUntouched = async () => expect(await readdir(join(target.config, '..'))).to.deep.equal(['api.json']);

    it('overwrites existing content only with --replace', async () => {
      const { deployment, keys } = sources.get('mongo')!;
      await target.run(registerPublish, 'publish', versions.directories[0]!);
      await target.run(registerKeys, 'keys', 'create', '--name', 'existing');
      const refusal = await target.refused(registerImport, 'import-backup', copy);
      expect(refusal).to.contain('not empty: they contain 1 version, 1 key, an audit log with 2 entries');
      expect(await target.json(registerKeys, 'keys', 'list')).to.have.length(1);
      await target.run(registerImport, 'import-backup', copy, '--replace');
      const options = { withTime: false };
      const responses = await deployment.responses(CURRENT, keys, options);
      expect(await target.responses(CURRENT, keys, options)).to.deep.equal(responses);
      await target.verified();
      expect(await target.json(registerKeys, 'keys', 'list')).to.have.length(4);
    });

    it('refuses a file that is not an archive', async () => {
      const refusal = await target.refused(registerImport, 'import-backup', join(copy, 'backup.json'));
      expect(refusal).to.contain(
        'is not a backup. A backup is a directory, or a file that ends with .tar, .tar.gz or .tgz.',
      );
      await isUntouched();
    });

    it('Ctrl-C ends an export and a restore, which report what is left', async () => {
      const { deployment } = sources.get('sqlite')!;
      const path = join(folder, 'interrupted');
      const refusal = await interrupt(() => deployment.refused(registerExport, 'export', path));
      expect(refusal).to.equal('The export was interrupted, and its files were removed.');
      expect(await readdir(folder)).to.not.include('interrupted');
      expect(await interrupt(() => target.refused(registerImport, 'import-backup', copy))).to.equal(
        'The restore was interrupted. To complete it, repeat it with --replace.',
      );
      await target.run(registerImport, 'import-backup', copy, '--replace');
    });

    it('refuses an interrupted backup', async () => {
      await rm(join(copy, 'backup.json'));
      const refusal = await target.refused(registerImport, 'import-backup', copy);
      expect(refusal).to.contain('is not a complete backup: it has no backup.json');
      await isUntouched();
    });

    for (const name of [
      'backup.json',
      'keys.ndjson',
      'key-audit.ndjson',
      'data-audit.ndjson',
      'snapshots/1/manifest.json',
    ]) {
      it(`refuses a backup in which ${name} was cut off`, async () => {
        const path = join(copy, name);
        await truncate(path, (await stat(path)).size - 10);
        expect(await target.refused(registerImport, 'import-backup', copy)).to.match(/The backup .*is damaged/);
        await isUntouched();
      });
    }

    it('refuses a backup with a changed row, a missing file or an unknown format', async () => {
      const rows = (await readdir(join(copy, 'snapshots/2'))).find((name) => name.startsWith('markets.'))!;
      const path = join(copy, 'snapshots/2', rows);
      const text = await readFile(path, 'utf8');
      await writeFile(path, text.replace('2', '3'));
      expect(await target.refused(registerImport, 'import-backup', copy)).to.contain(`${rows} was changed or cut off`);
      await rm(path);
      expect(await target.refused(registerImport, 'import-backup', copy)).to.contain(`${rows} cannot be read`);
      await writeFile(join(copy, 'backup.json'), '{"format": 2}');
      expect(await target.refused(registerImport, 'import-backup', copy)).to.contain('can only read format 1');
      await isUntouched();
    });

    it('refuses a damaged or missing archive', async () => {
      const archive = join(folder, 'damaged.tar.gz');
      await cp(backupOf('sqlite'), archive);
      await truncate(archive, 2000);
      expect(await target.refused(registerImport, 'import-backup', archive)).to.contain('The archive cannot be used');
      expect(await target.refused(registerImport, 'import-backup', join(folder, 'none.tar'))).to.contain('none.tar');
      await isUntouched();
      expect((await readdir(folder)).filter((name) => name.endsWith('.tmp'))).to.deep.equal([]);
    });
  });
});
