import { createHash } from 'node:crypto';
import { once } from 'node:events';
import {
  chmod,
  cp,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  readlink,
  rm,
  stat,
  truncate,
  writeFile,
} from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { register as registerPublish } from '../../../cli/commands/publish.js';
import { register as registerSnapshots } from '../../../cli/commands/snapshots.js';
import { importInto } from '../../../plugins/metro/import/import.js';
import { startProcess } from '../../support/command-process.js';
import { interrupt } from '../../support/interrupt.js';
import { type CommandRun, expecting, runCommand } from '../../support/run-command.js';
import { skip } from '../../support/skip.js';
import { until } from '../../support/until.js';

describe('metro-forecast publish into a directory', () => {
  let folder: string;
  let data: string;
  let served: string;
  let config: string;

  const writeConfig = (path: string) =>
    writeFile(
      config,
      JSON.stringify({ adapter: { use: 'json', options: { path } }, plugins: ['markets'], auth: { keys: 'memory' } }),
    );

  const importIndex = async (value: string, to: string): Promise<string> => {
    const source = join(folder, 'hpi.csv');
    await writeFile(source, `"A, TX",10000,2024,1,100.00,-\n"A, TX",10000,2024,2,${value},-\n`);
    await importInto({ sources: [source], to });
    return to;
  };

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'publish-directory-'));
    config = join(folder, 'config.json');
    served = join(folder, 'served');
    await writeConfig(served);
    data = await importIndex('101.00', join(folder, 'data'));
  });
  afterEach(() => rm(folder, { recursive: true }));

  const run = (...args: string[]): Promise<CommandRun> =>
    runCommand(args[0] === 'publish' ? registerPublish : registerSnapshots, ['--config', config, ...args]);
  const { done, json, refused } = expecting(run);
  const manifestOf = async (directory: string) => JSON.parse(await readFile(join(directory, 'manifest.json'), 'utf8'));

  const named = async (version: string, from = data): Promise<string> => {
    const to = join(folder, `${version}-${(await readdir(folder)).length}`);
    await cp(from, to, { recursive: true });
    await writeFile(join(to, 'manifest.json'), JSON.stringify({ ...(await manifestOf(from)), version }));
    return to;
  };
  const otherRows = () => importIndex('102.00', join(folder, 'other'));
  const state = async () =>
    Promise.all((await readdir(served)).sort().map(async (name) => [name, await readFile(join(served, name), 'utf8')]));

  it('reports an interruption while it writes, and changes nothing', async () => {
    await done('publish', data);
    const before = await state();
    const other = await otherRows();
    expect(await interrupt(() => refused('publish', other))).to.equal(
      'The publication was interrupted, and nothing was changed.',
    );
    expect(await state()).to.deep.equal(before);
  });

  it('names the commands that create a dataset only if the manifest is missing', async () => {
    const missing = await refused('publish', join(folder, 'none'));
    expect(missing).to.include(`import-table FILE --to ${join(folder, 'none')}" creates a dataset from a table`);
    expect(missing).to.include('" creates a dataset of house prices');
    await rm(join(data, 'manifest.json'));
    await mkdir(join(data, 'manifest.json'));
    expect(await refused('publish', data)).to.match(/^\S+manifest.json cannot be read: it is a folder[^\n]*$/);
  });

  it('ends at once on Ctrl-C while it checks the dataset', async function () {
    if (process.platform !== 'linux') skip(this, 'only Linux lists the open files of a process in /proc');
    const rows = 1_000_000;
    const lines = Array.from({ length: rows }, (_, id) => `${JSON.stringify({ id })}\n`);
    const properties = { id: { type: 'integer', multipleOf: 1 } };
    const schema = { type: 'object', required: ['id'], additionalProperties: false, properties, examples: [{ id: 1 }] };
    const manifest = { ...(await manifestOf(data)), collections: { a: { file: 'a.ndjson' } } };
    await writeFile(join(folder, 'a.collection.json'), JSON.stringify({ name: 'a', key: ['id'], schema }));
    await writeFile(join(folder, 'a.ndjson'), lines.join(''));
    await writeFile(join(folder, 'manifest.json'), JSON.stringify(manifest));
    const plugins = [{ use: 'tables', options: { path: folder } }, 'status'];
    const adapter = { use: 'json', options: { path: served } };
    await writeFile(config, JSON.stringify({ adapter, plugins, auth: { keys: 'memory' } }));
    const child = startProcess(['--config', config, 'publish', folder], {});
    const opened = async () => {
      const files = await readdir(`/proc/${child.pid}/fd`);
      return Promise.all(files.map((name) => readlink(`/proc/${child.pid}/fd/${name}`).catch(() => '')));
    };
    await until(async () => (await opened()).includes(join(folder, 'a.ndjson')));
    child.kill('SIGINT');
    expect((await once(child, 'exit'))[1]).to.equal('SIGINT');
  });

  it('creates the folder and its parents', async () => {
    served = join(folder, 'a', 'b', 'served');
    await writeConfig(served);
    const { version, changed } = await json('publish', data);
    expect([(await manifestOf(served)).version, changed]).to.deep.equal([version, true]);
  });

  it('removes the new folder if nothing is published', async () => {
    served = join(folder, 'a', 'served');
    await writeConfig(served);
    const { file } = (await manifestOf(data)).collections.markets;
    await rm(join(data, file));
    await refused('publish', data);
    expect(await readdir(folder)).not.to.include('a');
  });

  it('explains why the folder cannot be created', async () => {
    await writeFile(served, 'a file');
    expect(await refused('publish', data)).to.contain(
      `The dataset ${served} cannot be written because its folder cannot be created: a file with that name exists.`,
    );
    served = join(served, 'below');
    await writeConfig(served);
    expect(await refused('publish', data)).to.contain('a part of its path is not a folder');
  });

  it('rejects a folder with other files, which is probably a mistake', async () => {
    await mkdir(served);
    await writeFile(join(served, 'letter.txt'), 'Dear Sir');
    const { error } = await run('publish', data);
    expect(String(error)).to.contain(`${served} contains files but no dataset`);
    expect(await readdir(served)).to.deep.equal(['letter.txt']);
  });

  const marketsFile = async () => join(served, (await manifestOf(served)).collections.markets.file);
  const damages: readonly (readonly [string, () => Promise<void>, string])[] = [
    ['its manifest is cut short', () => truncate(join(served, 'manifest.json'), 40), 'manifest.json'],
    ['its manifest is empty', () => truncate(join(served, 'manifest.json')), 'manifest.json'],
    ['its manifest is something else', () => writeFile(join(served, 'manifest.json'), '[]'), 'manifest.json'],
    ['a file is cut short', async () => truncate(await marketsFile(), 10), 'markets.'],
    ['a file is missing', async () => rm(await marketsFile()), 'markets.'],
  ];
  for (const [what, damage, file] of damages) {
    for (const which of ['another version', 'the same one']) {
      it(`repairs a dataset with ${which} if ${what}, and reports that`, async () => {
        await done('publish', data);
        await damage();
        const next = which === 'another version' ? await named('next') : data;
        const { stdout, stderr } = await done('publish', next);
        const { version } = await manifestOf(next);
        expect(stdout).to.match(new RegExp(`^Version ${version} is published: \\d+ rows\\.`));
        expect(stderr).to.contain('The previous version could not be served and was replaced: ').and.to.contain(file);
        expect(await json('publish', next)).to.deep.equal({ version, rows: {}, changed: false });
        expect((await done('snapshots', 'audit', '--verify')).stdout).to.contain('is complete: 2 entries');
      });
    }
  }

  it('--json reports the damage', async () => {
    await done('publish', data);
    await truncate(join(served, 'manifest.json'), 40);
    expect((await json('publish', data)).repaired).to.contain('manifest.json is not a valid manifest');
  });

  it('does not replace a manifest without read permission', async function () {
    if (process.getuid?.() === 0) skip(this, 'root may read every file');
    await done('publish', data);
    await chmod(join(served, 'manifest.json'), 0);
    expect(await refused('publish', await named('next'))).to.contain('permission is denied');
    expect((await stat(join(served, 'manifest.json'))).mode & 0o777).to.equal(0);
  });

  it('rejects different rows under the current version, and changes nothing', async () => {
    const { version } = await json('publish', data);
    const before = await state();
    const message = await refused('publish', await named(version, await otherRows()));
    expect(message).to.contain(
      `Version ${version} has already been published with different rows: nothing has changed.`,
    );
    expect(message).to.contain('with different rows in ').and.to.contain('another "version"');
    expect(await state()).to.deep.equal(before);
  });

  it('rejects different rows under an earlier version, and accepts the same rows', async () => {
    await done('publish', await named('first'));
    await done('publish', await named('second'));
    const before = await state();
    const message = await refused('publish', await named('first', await otherRows()));
    expect(message).to.contain('Version first has already been published with different rows: nothing has changed.');
    expect(await state()).to.deep.equal(before);
    expect((await json('publish', await named('first'))).changed).to.equal(true);
  });

  it('rejects different rows if the manifest is damaged, because the audit log has a digest of the published rows', async () => {
    await done('publish', await named('first'));
    await truncate(join(served, 'manifest.json'), 40);
    expect(await refused('publish', await named('first', await otherRows()))).to.contain('with different rows');
  });

  it('audit --verify names the file that was edited by hand, and its version', async () => {
    const { version } = await json('publish', data);
    const path = await marketsFile();
    const name = path.slice(served.length + 1);
    const verify = () => done('snapshots', 'audit', '--verify');
    expect((await verify()).stderr).to.equal('');
    await writeFile(path, (await readFile(path, 'utf8')).replace('"A, TX"', '"B, TX"'));
    const { stdout, stderr } = await verify();
    expect(stderr).to.equal(`version "${version}": ${name} was changed after it was published\n`);
    expect(stdout).to.contain('is complete: 1 entry');
    expect((await json('snapshots', 'audit', '--verify')).notes).to.have.length(1);

    const manifest = await manifestOf(served);
    const sha256 = createHash('sha256')
      .update(await readFile(path))
      .digest('hex');
    manifest.collections.markets = { ...manifest.collections.markets, sha256 };
    await writeFile(join(served, 'manifest.json'), JSON.stringify(manifest));
    expect((await verify()).stderr, 'with the sum in the manifest').to.contain(`"${version}": ${name} was changed`);

    await cp(path, join(served, 'mine.ndjson'));
    manifest.collections.markets = { file: 'mine.ndjson' };
    await writeFile(join(served, 'manifest.json'), JSON.stringify(manifest));
    expect((await verify()).stderr).to.contain(`"${version}": manifest.json was changed: it refers to different rows`);

    await truncate(join(served, 'manifest.json'), 40);
    expect((await verify()).stderr).to.contain(`version "${version}": ${served}/manifest.json is not a valid manifest`);
    await rm(path);
    await done('publish', data);
    expect((await verify()).stderr).to.equal('');
  });

  it('adds the collections of a new plugin to a version that lacks them', async () => {
    await done('publish', data);
    const manifest = await manifestOf(served);
    delete manifest.collections.markets;
    await writeFile(join(served, 'manifest.json'), JSON.stringify(manifest));
    const { stderr } = await done('publish', data);
    expect(stderr).to.contain('collections.markets: is missing');
    expect((await json('publish', data)).changed).to.equal(false);
  });

  it('treats a version as new if its publication was interrupted', async () => {
    await done('publish', await named('first'));
    const manifest = await readFile(join(served, 'manifest.json'));
    await done('publish', await named('second'));
    await writeFile(join(served, 'manifest.json'), manifest);
    await done('publish', await named('second', await otherRows()));
  });

  it('changes nothing for the same rows in a different format', async () => {
    await done('publish', await named('first'));
    const again = await named('first');
    const manifest = await manifestOf(again);
    for (const described of Object.values<Record<string, unknown>>(manifest.collections)) {
      const path = join(again, String(described['file']));
      const lines = (await readFile(path, 'utf8')).split('\n').filter((line) => line !== '');
      const reversed = lines.map((line) =>
        JSON.stringify(Object.fromEntries(Object.entries(JSON.parse(line)).reverse())),
      );
      await writeFile(path, reversed.map((line) => `${line}\r\n`).join(''));
      delete described['sha256'];
    }
    await writeFile(join(again, 'manifest.json'), JSON.stringify(manifest));
    expect((await json('publish', again)).changed).to.equal(false);
  });
});
