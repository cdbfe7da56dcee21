import { cp, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir, userInfo } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { expect } from 'chai';
import { MongoClient } from 'mongodb';
import { register as registerPublish } from '../../../cli/commands/publish.js';
import { register as registerSnapshots } from '../../../cli/commands/snapshots.js';
import { type OperatorError, StorageError } from '../../../core/errors.js';
import { packageRoot } from '../../../core/util/package.js';
import { importInto } from '../../../plugins/metro/import/import.js';
import { type CommandRun, expecting, runCommand } from '../../support/run-command.js';
import { mongoForTests, uniqueName } from '../../support/services.js';

describe('metro-forecast publish and snapshots', () => {
  let folder: string;
  let data: string;
  let config: string;
  let uri: string;
  let database: string;

  const writeConfig = (adapter: unknown) =>
    writeFile(config, JSON.stringify({ adapter, plugins: ['markets', 'status'], auth: { keys: 'memory' } }));

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'publish-'));
    data = join(folder, 'data');
    config = join(folder, 'config.json');
    ({ url: uri } = await mongoForTests());
    database = uniqueName('cli');
    await writeConfig({ use: 'mongo', options: { database } });
    await writeFile(join(folder, 'hpi.csv'), '"A, TX",10000,2024,1,100.00,-\n"A, TX",10000,2024,2,101.00,-\n');
    await importInto({ sources: [join(folder, 'hpi.csv')], to: data });
  });
  afterEach(async () => {
    const client = new MongoClient(uri);
    await client.db(database).dropDatabase();
    await client.close();
    await rm(folder, { recursive: true });
  });

  const run = (...args: string[]): Promise<CommandRun> => {
    const register = args[0] === 'publish' ? registerPublish : registerSnapshots;
    return runCommand(register, ['--config', config, ...args], { MONGODB_URI: uri });
  };
  const { done, json, refused } = expecting(run);

  const another = async (version: string, created: string): Promise<string> => {
    const to = join(folder, version);
    await cp(data, to, { recursive: true });
    const manifest = JSON.parse(await readFile(join(data, 'manifest.json'), 'utf8'));
    await writeFile(join(to, 'manifest.json'), JSON.stringify({ ...manifest, version, created }));
    return to;
  };

  it('publish DIR prints the published version, and its progress on standard error', async () => {
    const { stdout, stderr } = await done('publish', data);
    expect(stdout).to.match(
      /^Version 2024-08-27-[0-9a-f]{12} is published: \d+ rows\. Running services switch to it now\.\n$/,
    );
    expect(stderr).to.include('checking markets: 1 row\n').and.include('publishing markets: 1 row\n');
  });

  it('publish DIR --json prints the rows of each collection; snapshots --json lists the version', async () => {
    const { version, rows } = await json('publish', data);
    expect(rows).to.include({ markets: 1 });
    const [listed, ...others] = await json('snapshots');
    expect(listed).to.include({ version, current: true });
    expect(others).to.deep.equal([]);
  });

  it('publish DIR rejects an invalid dataset with its errors, and publishes nothing', async () => {
    const manifest = JSON.parse(await readFile(join(data, 'manifest.json'), 'utf8'));
    const { file } = manifest.collections.markets;
    await writeFile(join(data, file), (await readFile(join(data, file), 'utf8')).replace('"10000"', '"1000"'));
    const message = await refused('publish', data);
    expect(message).to.include(`${data} was not published, because it is not valid:\n  - `);
    expect(message).to.include(`  - ${file}:1: cbsa: `).and.include('refers to 10000, which is not in "markets"');
    expect((await done('snapshots')).stderr).to.include(
      'No version has been published. To publish one: metro-forecast publish DIR',
    );
  });

  it('publish DIR a second time succeeds, and reports that nothing has changed', async () => {
    const { version } = await json('publish', data);
    expect((await done('publish', data)).stdout).to.equal(
      `Version ${version} is already current, with the same rows: nothing has changed.\n`,
    );
    expect(await json('publish', data)).to.deep.equal({ version, rows: {}, changed: false });
    expect(await json('snapshots')).to.have.length(1);
  });

  it('publish DIR rejects a version with different content, and a version that is no longer current', async () => {
    const first = await json('publish', data);
    const other = join(folder, 'other');
    await writeFile(join(folder, 'hpi.csv'), '"A, TX",10000,2024,1,100.00,-\n"A, TX",10000,2024,2,102.00,-\n');
    await importInto({ sources: [join(folder, 'hpi.csv')], to: other });
    const manifest = JSON.parse(await readFile(join(other, 'manifest.json'), 'utf8'));
    await writeFile(join(other, 'manifest.json'), JSON.stringify({ ...manifest, version: first.version }));
    const conflict = (await run('publish', other)).error as OperatorError;
    expect(conflict.heading).to.equal(
      `Version ${first.version} has already been published with different rows: nothing has changed.`,
    );
    expect(conflict.cause).to.be.instanceOf(StorageError).and.to.have.property('code', 'conflict');
    expect(conflict.message).to.contain(`choose another "version" in ${other}/manifest.json`);
    const second = await another('second', '2124-01-01T00:00:00Z');
    await done('publish', second);
    await done('snapshots', 'activate', first.version);
    const message = await refused('publish', second);
    expect(message).to.contain(`Version second has already been published, and ${first.version} is current.`);
    expect(message).to.contain('snapshots activate second');
  });

  it('publish DIR compares rows if the manifest has no checksums, and changes nothing for the same rows', async () => {
    const { version } = await json('publish', data);
    const path = join(await another(version, '2124-01-01T00:00:00Z'), 'manifest.json');
    const manifest = JSON.parse(await readFile(path, 'utf8'));
    for (const file of Object.values<Record<string, unknown>>(manifest.collections)) delete file['sha256'];
    await writeFile(path, JSON.stringify(manifest));
    expect(await json('publish', join(folder, version))).to.deep.equal({ version, rows: {}, changed: false });
  });

  it('publish DIR rejects different rows for an earlier version, and suggests activating the same rows', async () => {
    await done('publish', data);
    const second = await another('second', '2124-01-01T00:00:00Z');
    await done('publish', second);
    await done('publish', await another('third', '2124-02-01T00:00:00Z'));
    expect(await refused('publish', second)).to.contain(`--config ${config} snapshots activate second`);
    await writeFile(join(folder, 'hpi.csv'), '"A, TX",10000,2024,1,100.00,-\n"A, TX",10000,2024,2,102.00,-\n');
    await importInto({ sources: [join(folder, 'hpi.csv')], to: second });
    const path = join(second, 'manifest.json');
    await writeFile(path, JSON.stringify({ ...JSON.parse(await readFile(path, 'utf8')), version: 'second' }));
    const message = await refused('publish', second);
    expect(message)
      .to.contain('Version second has already been published with different rows')
      .and.not.to.contain('activate');
    expect((await json('snapshots'))[0]).to.include({ version: 'third', current: true });
  });

  it('publish DIR suggests a command if the dataset is missing or invalid', async () => {
    const missing = join(folder, 'missing');
    expect(await refused('publish', missing)).to.contain(
      `metro-forecast --config ${config} import SOURCE... --to ${missing}`,
    );
    await writeFile(join(data, 'manifest.json'), '{');
    expect(await refused('publish', data)).to.contain('import SOURCE... --to NEW-DIR');
  });

  it('publish DIR suggests "doctor" if the database is unreachable', async () => {
    await writeConfig({ use: 'mongo', options: { database, writeMs: 1000 } });
    const { error } = await runCommand(registerPublish, ['--config', config, 'publish', data], {
      MONGODB_URI: 'mongodb://127.0.0.1:1',
    });
    expect(String(error)).to.contain(`metro-forecast --config ${config} doctor`);
  });

  it('publish DIR reports that it waits for the lock of a killed publisher', async () => {
    await json('publish', data);
    const client = new MongoClient(uri);
    const lock = { owner: 'killed', expires: new Date(Date.now() + 600) };
    await client.db(database).collection('catalog').updateOne({}, { $set: { lock } });
    await client.close();
    const { stderr } = await done('publish', await another('second', '2124-01-01T00:00:00Z'));
    expect(stderr).to.contain(`its lock expires at ${lock.expires.toISOString()}`);
  });

  it('publish DIR never overwrites the built-in sample', async () => {
    await writeConfig({ use: 'json', options: { path: join(packageRoot, 'plugins/metro/dataset') } });
    expect(await refused('publish', data))
      .to.contain("the package's sample")
      .and.to.contain('metro-forecast init');
  });

  it('publish and snapshots reject adapters that cannot publish or do not keep their data, and name them', async () => {
    await writeConfig('memory');
    expect(await refused('publish', data)).to.include('The adapter "memory" of this configuration loses its data');
    expect(await refused('snapshots'))
      .to.include('The adapter "memory"')
      .and.include('"sqlite" or "mongo"');
    const readOnly = `export default { kind: 'adapter', name: 'read-only', version: '1.0.0', options: { type: 'object' },
      capabilities: { publish: false, versions: false },
      create: () => ({ open() {}, close() {}, ping() {}, snapshot() {} }) };`;
    await writeFile(join(folder, 'read-only.mjs'), readOnly);
    await writeConfig('./read-only.mjs');
    expect(await refused('publish', data)).to.include('The adapter "read-only" of this configuration cannot publish.');
    expect(await refused('snapshots')).to.include(
      'The adapter "read-only" of this configuration stores no old versions.',
    );
  });

  it('snapshots omits the publication times if the adapter has no audit log', async () => {
    const { href } = pathToFileURL(join(packageRoot, 'dist/adapters/sqlite/index.js'));
    const unaudited = `import sqlite from '${href}';
      export default { ...sqlite, name: 'unaudited', capabilities: { ...sqlite.capabilities, audit: false },
        create: (...given) => Object.assign(sqlite.create(...given), { audit: undefined }) };`;
    await writeFile(join(folder, 'unaudited.mjs'), unaudited);
    await writeConfig({ use: './unaudited.mjs', options: { path: 'data.sqlite' } });
    const { version } = await json('publish', data);
    expect((await done('snapshots')).stdout).to.match(
      new RegExp(`^VERSION +CREATED +STATE\n${version} +20\\S+Z +current\n$`),
    );
    expect((await json('snapshots'))[0].writtenAt).to.equal(null);
  });

  it('snapshots lists the newest version first, activate restores a version, and prune keeps the newest and the current version', async () => {
    const { version } = await json('publish', data);
    await done('publish', await another('second', '2124-01-01T00:00:00Z'));
    await done('publish', await another('third', '2124-02-01T00:00:00Z'));
    const { stdout } = await done('snapshots', 'list');
    expect(stdout).to.match(
      new RegExp(
        `^VERSION +CREATED +PUBLISHED +STATE\nthird +2124-02-01T00:00:00.000Z +20\\S+Z +current\nsecond .*\n${version} .*\n$`,
      ),
    );
    const [{ publishedAt, writtenAt }] = await json('snapshots');
    expect(publishedAt).to.equal('2124-02-01T00:00:00.000Z');
    expect(Date.parse(writtenAt)).to.be.within(Date.now() - 60_000, Date.now());
    expect((await done('snapshots', 'activate', version)).stdout).to.equal(
      `Version ${version} is the current version. Running services switch to it now.\n`,
    );
    expect(await json('snapshots', 'prune', '--keep', '1', '--dry-run')).to.deep.equal({ wouldDelete: ['second'] });
    expect((await done('snapshots', 'prune', '--keep', '1', '--dry-run')).stdout).to.equal('Would delete: second.\n');
    expect(await json('snapshots', 'prune', '--keep', '1')).to.deep.equal({ deleted: ['second'] });
    expect((await done('snapshots', 'prune', '--keep', '1')).stdout).to.equal('No version was deleted.\n');
    const states = (await json('snapshots')).map((entry: { version: string; current: boolean }) => [
      entry.version,
      entry.current,
    ]);
    expect(states).to.deep.equal([
      ['third', false],
      [version, true],
    ]);
  });

  it('snapshots audit lists publications, activations and deletions with their user, and verifies them', async () => {
    const { version } = await json('publish', data);
    await done('publish', data);
    await done('publish', await another('second', '2124-01-01T00:00:00Z'));
    await refused('snapshots', 'activate', 'third');
    await done('snapshots', 'activate', version);
    await done('publish', await another('third', '2124-02-01T00:00:00Z'));
    await done('snapshots', 'prune', '--keep', '1');
    const { username } = userInfo();
    const { stdout } = await done('snapshots', 'audit');
    expect(stdout).to.match(
      new RegExp(
        `^TIME +ACTION +VERSION +REPLACES +BY +FROM\n\\S+Z +publish +${version} +- +${username}.*\n` +
          `\\S+Z +publish +second +${version} .*\n\\S+Z +activate +${version} +second .*\n` +
          `\\S+Z +publish +third +${version} .*\n\\S+Z +prune +second +- .*\n\\S+Z +prune +${version} +- .*\n$`,
      ),
    );
    const entries = await json('snapshots', 'audit');
    expect(entries.map(({ action }: { action: string }) => action)).to.deep.equal([
      'publish',
      'publish',
      'activate',
      'publish',
      'prune',
      'prune',
    ]);
    expect((await done('snapshots', 'audit', '--verify')).stdout).to.equal(
      `The audit log of data is complete: 6 entries. The hash of the newest entry is ${entries[5].hash}.\n`,
    );
    expect(await refused('snapshots', 'audit', '--expect', 'f'.repeat(64))).to.contain('no entry has the hash ffff');
    const client = new MongoClient(uri);
    await client
      .db(database)
      .collection('catalog')
      .updateOne({}, { $set: { 'current.version': 'by-hand' } });
    expect(await refused('snapshots', 'audit', '--verify')).to.contain(
      'no entry records how "by-hand" became the current version',
    );
    await client.db(database).collection<{ _id: number }>('data_audit').deleteOne({ _id: 2 });
    await client.close();
    expect(await refused('snapshots', 'audit', '--verify')).to.contain('entry 3 does not follow the previous entry');
  });

  it('snapshots audit also works for a directory, and detects a change by another program', async () => {
    const served = join(folder, 'served');
    await mkdir(served);
    await writeConfig({ use: 'json', options: { path: served } });
    expect((await done('snapshots', 'audit')).stderr).to.contain('The audit log contains no publications.\n');
    const { stdout } = await done('snapshots', 'audit', '--verify');
    expect(stdout).to.equal('The audit log of data is complete: 0 entries.\n');
    const { version } = await json('publish', data);
    await done('publish', await another('second', '2124-01-01T00:00:00Z'));
    const [, { replaces, action, hash }] = await json('snapshots', 'audit');
    expect({ replaces, action }).to.deep.equal({ replaces: version, action: 'publish' });
    expect((await done('snapshots', 'audit', '--verify', '--expect', hash)).stdout).to.contain(
      'is complete: 2 entries',
    );
    await cp(await another('third', '2124-02-01T00:00:00Z'), served, { recursive: true });
    expect(await refused('snapshots', 'audit', '--verify')).to.contain('how "third" became the current version');
    expect(await refused('snapshots'))
      .to.contain('stores no old versions')
      .and.not.contain('init');
  });

  it('publish DIR reports that nothing has changed if the audit cannot be written', async () => {
    const served = join(folder, 'served');
    await mkdir(join(served, '.audit.ndjson'), { recursive: true });
    await writeConfig({ use: 'json', options: { path: served } });
    const { error } = await run('publish', data);
    expect(String(error))
      .to.contain('Nothing has changed: the audit')
      .and.to.contain('.audit.ndjson cannot be written');
    expect(await readdir(served)).to.deep.equal(['.audit.ndjson']);
  });

  it('snapshots activate rejects an unknown version and suggests the nearest name', async () => {
    await done('publish', await another('second', '2124-01-01T00:00:00Z'));
    expect(await refused('snapshots', 'activate', 'secund')).to.equal(
      'There is no version "secund"; did you mean "second"?',
    );
    expect(await refused('snapshots', 'activate', 'zzz')).to.include('"snapshots list" shows all versions');
  });

  for (const keep of ['0', '-1', 'x', '1.5']) {
    it(`snapshots prune --keep ${keep} is wrong usage`, async () => {
      const { error } = await run('snapshots', 'prune', `--keep=${keep}`);
      expect(error).to.include({ code: 'commander.invalidArgument' });
    });
  }
});
