import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { expect } from 'chai';
import { register as registerConfig } from '../../../cli/commands/config.js';
import { register as registerImportCsv } from '../../../cli/commands/import-table.js';
import { register as registerInit } from '../../../cli/commands/init.js';
import { configSchema } from '../../../core/config/schema.js';
import { tierNames } from '../../../core/config/tiers.js';
import { writeDirectory } from '../../../core/data/write-directory.js';
import { OperatorError } from '../../../core/errors.js';
import { packageRoot } from '../../../core/util/package.js';
import { loadConfig, loadModules } from '../../../product.js';
import * as fixture from '../../support/fixture.js';
import { runCommand } from '../../support/run-command.js';

describe('metro-forecast config', () => {
  it('shows the embedded configuration as JSON, with every default', async () => {
    const { stdout, stderr, error } = await runCommand(registerConfig, ['config']);
    expect(error).to.equal(undefined);
    expect(stderr).to.equal(`${join(packageRoot, 'config/default.json')} (embedded), secrets masked\n`);
    expect(JSON.parse(stdout)).to.have.nested.property('server.port', 8080);
    expect(JSON.parse(stdout)).to.have.nested.property('adapter.use', 'json');
  });

  it('shows the service information, without the list of changes unless the configuration sets it', async () => {
    const serviceOf = async (env: Record<string, string>) =>
      JSON.parse((await runCommand(registerConfig, ['config'], env)).stdout).service;
    expect(await serviceOf({ METRO__SERVICE__VERSION: '7.0.0' }))
      .to.include({ name: 'metro-forecast', version: '7.0.0' })
      .and.to.not.have.property('changes');
    const changes = [{ version: '1.1.0', summary: 'More.' }];
    expect(await serviceOf({ METRO__SERVICE__CHANGES: JSON.stringify(changes) })).to.deep.include({ changes });
  });

  it('shows the source of values from the environment, and masks secrets', async () => {
    const env = { PORT: '9000', REDIS_URL: 'redis://user:s3cret@redis.example:6379', METRO__LIMITS__REPLICAS: '3' };
    const { stdout, stderr } = await runCommand(registerConfig, ['config'], env);
    expect(stderr).to.include('\n  server.port      PORT\n').and.include('\n  redis.url        REDIS_URL\n');
    expect(JSON.parse(stdout)).to.have.nested.property('redis.url', 'redis://***@redis.example:6379');
    expect(`${stdout}${stderr}`).to.not.include('s3cret');
    const json = JSON.parse((await runCommand(registerConfig, ['config', '--json'], env)).stdout);
    expect(json).to.have.all.keys('path', 'embedded', 'overrides', 'config');
    expect(json.overrides).to.deep.include({ path: 'limits.replicas', variable: 'METRO__LIMITS__REPLICAS' });
    expect(json.config.limits.replicas).to.equal(3);
  });

  it('checks the options of modules and fills in their defaults', async () => {
    const env = { METRO__AUTH__KEYS: '{"use":"file","options":{"path":"k.json"}}' };
    const { stdout } = await runCommand(registerConfig, ['config'], env);
    expect(JSON.parse(stdout).auth.keys.options).to.deep.equal({ path: 'k.json', pollMs: 250 });
    const { error } = await runCommand(registerConfig, ['config'], {
      METRO__AUTH__KEYS: '{"use":"file","options":{"pth":1}}',
    });
    expect(error?.message)
      .to.include('auth.keys.options.pth (from METRO__AUTH__KEYS): there is no such setting; did you mean "path"?')
      .and.include('auth.keys.options.path (from METRO__AUTH__KEYS): is missing');
  });

  it('applies MONGODB_URI to the adapter and the key store if they are "mongo"', async () => {
    const uri = 'mongodb://user:s3cret@db.example/metro';
    const env = { METRO__ADAPTER: 'mongo', METRO__AUTH__KEYS: 'mongo', MONGODB_URI: uri };
    const { config } = await loadConfig({ env });
    expect(config.adapter.options).to.deep.equal({ uri });
    expect(config.auth.keys.options).to.deep.equal({ uri });
    const { stdout, error } = await runCommand(registerConfig, ['config'], env);
    expect(error).to.equal(undefined);
    expect(stdout).to.include('db.example').and.not.include('s3cret');
    expect((await loadConfig({ env: { MONGODB_URI: uri } })).config.adapter.options).to.not.have.property('uri');
  });

  it('--schema prints the schema of configuration files', async () => {
    const { stdout } = await runCommand(registerConfig, ['config', '--schema']);
    expect(JSON.parse(stdout)).to.deep.equal(JSON.parse(JSON.stringify(configSchema)));
  });
});

describe('metro-forecast init', () => {
  let folder: string;

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'cli-init-'));
  });
  after(() => rm(folder, { recursive: true }));

  it('rejects a dataset that is a file', async () => {
    const path = join(folder, 'of-a-file.json');
    await writeFile(join(folder, 'table.csv'), 'id\n1\n');
    const { error } = await runCommand(registerInit, ['init', path, '--dataset', 'table.csv']);
    expect(error?.message).to.contain('table.csv is a file. Name a dataset directory or a database such as data.db');
    const within = await runCommand(registerInit, ['init', path, '--dataset', 'table.csv/data']);
    expect(within.error?.message ?? '').not.to.contain('ENOTDIR');
  });

  it('writes a configuration that loads, with a key file and a schema for editors', async () => {
    const path = join(folder, 'own.json');
    const { stdout, error } = await runCommand(registerInit, ['init', path, '--dataset', 'data/mine']);
    expect(error).to.equal(undefined);
    expect(stdout)
      .to.include(`It serves the Metro Forecast API, because ${join(folder, 'data/mine')} contains no dataset yet.`)
      .and.include(`metro-forecast import-table FILE --to ${join(folder, 'data/mine')}`)
      .and.include(`metro-forecast init ${path} --dataset data/mine`)
      .and.include(`metro-forecast import SOURCE... --to ${join(folder, 'data/mine')}`)
      .and.include(`metro-forecast --config ${path} keys create --name NAME`);
    const { config, embedded } = await loadConfig({ path, env: {} });
    expect(embedded).to.equal(false);
    expect(config.adapter).to.deep.equal({ use: 'json', options: { path: 'data/mine' } });
    expect(config.auth.keys).to.deep.equal({ use: 'file', options: { path: 'keys.json' } });
  });

  it('with --public, lets callers without a key read, and gives new keys another tier', async () => {
    const path = join(folder, 'public.json');
    const { error } = await runCommand(registerInit, ['init', path, '--public']);
    expect(error).to.equal(undefined);
    const { config } = await loadConfig({ path, env: {} });
    expect(config.auth.anonymous).to.equal('public');
    expect(tierNames(config.auth)[0]).to.equal('enterprise');
    expect(config.adapter.options, 'the default folder of import-table').to.deep.equal({ path: 'dataset' });
  });

  describe('$schema', () => {
    const init = async (path: string) => {
      const { stdout, error } = await runCommand(registerInit, ['init', path]);
      expect(error).to.equal(undefined);
      return { stdout, written: JSON.parse(await readFile(path, 'utf8')) };
    };

    it('is the path into the installed package, even through a symbolic link to a folder', async () => {
      const project = join(folder, 'project');
      await mkdir(join(project, 'node_modules'), { recursive: true });
      await mkdir(join(project, 'etc/deep'), { recursive: true });
      await symlink(packageRoot, join(project, 'node_modules/metro-forecast-api'), 'dir');
      await symlink(join(project, 'etc/deep'), join(folder, 'linked'), 'dir');
      const { written } = await init(join(folder, 'linked/api.json'));
      expect(written.$schema).to.equal('../../node_modules/metro-forecast-api/config/schema.json');
      expect(existsSync(join(project, 'etc/deep', written.$schema))).to.equal(true);
      const sibling = await init(join(project, 'api.json'));
      expect(sibling.written.$schema).to.equal('./node_modules/metro-forecast-api/config/schema.json');
      expect(sibling.stdout).to.not.contain('For editors');
    });

    it('is the path of the schema in a checkout', async () => {
      const inside = await mkdtemp(join(packageRoot, 'dist/init-'));
      try {
        const { written } = await init(join(inside, 'api.json'));
        expect(resolve(inside, written.$schema)).to.equal(join(packageRoot, 'config/schema.json'));
      } finally {
        await rm(inside, { recursive: true });
      }
    });

    it('is omitted elsewhere, and the output suggests "config --schema" for editors', async () => {
      const { stdout, written } = await init(join(folder, 'elsewhere.json'));
      expect(written).to.not.have.property('$schema');
      expect(stdout).to.contain('For editors: metro-forecast config --schema > schema.json');
    });
  });

  const pluginsFor = async (
    name: string,
    rows: Readonly<Record<string, readonly object[]>>,
  ): Promise<{ plugins: string[]; stdout: string }> => {
    const directory = join(folder, name);
    const written = Object.entries(rows).map(([each, documents]) => [each, [documents]]);
    await writeDirectory(directory, fixture.manifest, Object.fromEntries(written));
    const path = join(folder, `${name}.json`);
    const { stdout, error } = await runCommand(registerInit, ['init', path, '--dataset', name]);
    expect(error).to.equal(undefined);
    const { config } = await loadConfig({ path, env: {} });
    return { plugins: config.plugins.map(({ use }) => use), stdout };
  };

  it('lists all plugins for a dataset with every collection', async () => {
    const { plugins, stdout } = await pluginsFor('all', fixture.documents);
    expect(plugins).to.deep.equal([
      'markets',
      'forecasts',
      'observations',
      'signals',
      'vintages',
      'status',
      'docs',
      'explore',
    ]);
    expect(stdout).to.not.include('write a plugin').and.not.include('import SOURCE');
  });

  it('lists the plugins whose collections the dataset has', async () => {
    const { markets, hpi, series, observations } = fixture.documents;
    const some = { markets: markets!, hpi: hpi!, series: series!, observations: observations! };
    const { plugins } = await pluginsFor('some', some);
    expect(plugins).to.deep.equal(['markets', 'observations', 'status', 'docs']);
  });

  it('lists the general plugins for a dataset with other collections, and prints the next steps', async () => {
    const { plugins, stdout } = await pluginsFor('books', { books: [{ isbn: '1' }] });
    expect(plugins).to.deep.equal(['status', 'docs']);
    expect(stdout).to.include('to serve books, add "tables"').and.include('"service"');
  });

  it('serves the tables of an imported CSV', async () => {
    await writeFile(join(folder, 'shelf.csv'), 'isbn,title\nx1,Emma\n');
    const to = join(folder, 'shelf');
    const importing = ['import-csv', join(folder, 'shelf.csv'), '--collection', 'shelf', '--key', 'isbn', '--to', to];
    expect((await runCommand(registerImportCsv, importing)).error).to.equal(undefined);
    const path = join(folder, 'shelf.json');
    const { stdout, error } = await runCommand(registerInit, ['init', path, '--dataset', 'shelf']);
    expect(error).to.equal(undefined);
    expect(stdout).to.not.include('write a plugin');
    const loaded = await loadConfig({ path, env: {} });
    expect(loaded.config.service.title).to.equal('Shelf');
    expect(loaded.config.plugins.map(({ use }) => use)).to.deep.equal(['tables', 'table-pages', 'status', 'docs']);
    const { registry } = await loadModules(loaded);
    expect(registry.routes.map(({ route }) => route.path)).to.include('/shelf/{isbn}');
  });

  it('does not list a plugin for a collection of the same name with different rows', async () => {
    const { plugins } = await pluginsFor('squares', { markets: [{ square: 'Piazza' }], hpi: [] });
    expect(plugins).to.deep.equal(['status', 'docs']);
  });

  it('reports a directory that is not a valid dataset, and writes nothing', async () => {
    await mkdir(join(folder, 'broken'));
    await writeFile(join(folder, 'broken/manifest.json'), '{');
    const path = join(folder, 'broken.json');
    const { error } = await runCommand(registerInit, ['init', path, '--dataset', 'broken']);
    expect(error?.message).to.include('is not a valid manifest');
    expect(existsSync(path)).to.equal(false);
  });

  it('never overwrites a file', async () => {
    const path = join(folder, 'mine.json');
    await writeFile(path, 'mine');
    const { error } = await runCommand(registerInit, ['init', path]);
    expect(error).to.be.instanceOf(OperatorError);
    expect(error?.message).to.equal(`${path} cannot be written: it already exists.`);
    expect(await readFile(path, 'utf8')).to.equal('mine');
  });

  it('reports a missing folder', async () => {
    const { error } = await runCommand(registerInit, ['init', join(folder, 'missing/own.json')]);
    expect(error?.message).to.include('it does not exist, or its folder does not');
  });
});
