import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { register } from '../../../cli/commands/validate.js';
import { StorageError } from '../../../core/errors.js';
import { importInto } from '../../../plugins/metro/import/import.js';
import { runCommand } from '../../support/run-command.js';

describe('metro-forecast validate', () => {
  let folder: string;
  let to: string;
  let config: string;

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'validate-'));
    to = join(folder, 'data');
    config = join(folder, 'config.json');
    await writeFile(join(folder, 'hpi.csv'), '"A, TX",10000,2024,1,100.00,-\n"A, TX",10000,2024,2,101.00,-\n');
    await importInto({ sources: [join(folder, 'hpi.csv')], to });
    const plugins = ['markets', 'forecasts', 'observations', 'signals', 'status'];
    await writeFile(config, JSON.stringify({ adapter: 'memory', plugins, auth: { realm: 'test', keys: 'memory' } }));
  });
  afterEach(() => rm(folder, { recursive: true }));

  const run = async (...argv: string[]) => {
    const before = process.exitCode;
    process.exitCode = 0;
    try {
      const { error, stdout } = await runCommand(register, ['--config', config, 'validate', to, ...argv]);
      if (error) throw error;
      return { stdout, exitCode: process.exitCode };
    } finally {
      process.exitCode = before;
    }
  };

  /** The manifest no longer has a checksum of the file, so the corrupt row itself is reported. */
  const breakRow = async (): Promise<string> => {
    const path = join(to, 'manifest.json');
    const manifest = JSON.parse(await readFile(path, 'utf8'));
    const { file } = manifest.collections.hpi;
    const text = await readFile(join(to, file), 'utf8');
    await writeFile(join(to, file), text.replace('101', '"much"').replace('10000', '99999'));
    manifest.collections.hpi = { file };
    await writeFile(path, JSON.stringify(manifest));
    return file;
  };

  it('reports a valid dataset', async () => {
    const { stdout, exitCode } = await run();
    expect(stdout).to.match(/data is valid: version 2024-08-27-[0-9a-f]{12}, 7 collections, 4 rows\.\n$/);
    expect(exitCode).to.equal(0);
  });

  it('lists each error with file, row, field and rule, and fails', async () => {
    const file = await breakRow();
    const { stdout, exitCode } = await run();
    expect(stdout).to.include('has 2 errors:');
    expect(stdout).to.include(`- ${file}:1: cbsa: refers to 99999, which is not in "markets"`);
    expect(stdout).to.include(`- ${file}:2: value: must be a number, not "much"`);
    expect(exitCode).to.equal(1);
  });

  it('prints JSON with --json, and counts the errors beyond --max-faults', async () => {
    const file = await breakRow();
    const { stdout, exitCode } = await run('--json', '--max-faults', '1');
    const { faults, ...report } = JSON.parse(stdout);
    expect(report).to.deep.include({ directory: to, ok: false, faultCount: 2 });
    expect(faults).to.deep.equal([{ file, row: 1, field: 'cbsa', rule: 'refers to 99999, which is not in "markets"' }]);
    expect(exitCode).to.equal(1);
    expect(JSON.parse((await run('--json')).stdout).faults).to.have.length(2);
  });

  it('lists values whose period ends after the dataset was created', async () => {
    await writeFile(join(folder, 'UNRATE.csv'), 'date,value\n2024-04-01,4\n2024-05-01,4\n');
    await importInto({ sources: [join(folder, 'UNRATE.csv')], to });
    const path = join(to, 'manifest.json');
    const manifest = JSON.parse(await readFile(path, 'utf8'));
    await writeFile(path, JSON.stringify({ ...manifest, created: '2024-05-15T00:00:00.000Z' }));
    const { stdout, exitCode } = await run();
    const late = (last: string) => `ends on ${last}, after the dataset was created (2024-05-15)`;
    expect(stdout).to.include(`:2: period_start: 2024-04-01 ${late('2024-06-30')}`);
    expect(stdout).to.include(`: observation_end: 2024-05-01 ${late('2024-05-31')}`);
    expect(exitCode).to.equal(1);
  });

  it('detects a file that was changed after it was written', async () => {
    const { collections } = JSON.parse(await readFile(join(to, 'manifest.json'), 'utf8'));
    const path = join(to, collections.hpi.file);
    await writeFile(path, (await readFile(path, 'utf8')).replace('101', '102'));
    const { stdout, exitCode } = await run();
    expect(stdout).to.match(/does not match the sha256 in the manifest/);
    expect(exitCode).to.equal(1);
  });

  it('rejects a directory without a manifest', async () => {
    await rm(join(to, 'manifest.json'));
    const error = await run().then(
      () => undefined,
      (thrown: unknown) => thrown,
    );
    expect(error).to.be.instanceOf(StorageError).and.to.have.property('message').that.includes('manifest.json');
  });
});
