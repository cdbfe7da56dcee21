import { execFile } from 'node:child_process';
import { cp, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect } from 'chai';
import { openDirectory } from '../../../core/data/directory.js';
import { packageRoot } from '../../../core/util/package.js';
import { modelVersion } from '../../../plugins/metro/forecast/model.js';
import { findModel, models } from '../../../plugins/metro/forecast/models/index.js';

const program = `
  import { main } from ${JSON.stringify(new URL('../../../cli/main.js', import.meta.url).href)};
  await main(process.argv);
`;
const run = async (...args: string[]): Promise<{ code: number; stdout: string; stderr: string }> => {
  try {
    const argv = ['--input-type=module', '--eval', program, '--', 'metro-forecast', 'forecast', ...args];
    return { code: 0, ...(await promisify(execFile)(process.execPath, argv)) };
  } catch (error) {
    return error as { code: number; stdout: string; stderr: string };
  }
};

describe('metro-forecast forecast', () => {
  let directory: string;

  before(async () => {
    directory = await mkdtemp(join(tmpdir(), 'metro-cli-forecast-'));
    await cp(join(packageRoot, 'plugins/metro/dataset'), directory, { recursive: true });
  });
  after(() => rm(directory, { recursive: true, force: true }));

  it('DIR prints the added runs and the new version of the dataset', async () => {
    const { code, stdout } = await run(directory, '--recompute', '--runs', '16');
    expect(code).to.equal(0);
    const { manifest } = await openDirectory(directory);
    expect(stdout).to.match(
      /^Added 16 runs, numbers 20223 to 20262, by metro-momentum-1\.0\.0: \d+ forecasts\.\nReplaced 22 runs, numbers 20213 to 20263\.\nNewest run: 44 markets,/,
    );
    expect(stdout).to.include('\nBacktest: ').and.to.include(`is now version ${manifest.version}.\n`);
  });

  it('DIR --json prints one JSON document on standard output, and --created sets the time of the dataset', async () => {
    const options = [
      '--json',
      '--recompute',
      '--runs',
      '2',
      '--model',
      'persistence',
      '--created',
      '2026-10-02T03:04:05Z',
    ];
    const { code, stdout } = await run(directory, ...options);
    expect(code).to.equal(0);
    expect((await openDirectory(directory)).manifest.created).to.equal('2026-10-02T03:04:05.000Z');
    const report = JSON.parse(stdout);
    expect(report).to.deep.include({ runs: 2, without_bounds: 0, backtest: null });
    expect(report.model_version).to.equal(modelVersion(findModel('persistence')));
    expect(report.newest_run).to.deep.include({ id: 20262, run_at: '2026-09-01T00:00:00Z', forecasts: 44 });
  });

  it('DIR --model with a mistyped name suggests the nearest name, without a stack trace', async () => {
    const { code, stdout, stderr } = await run(directory, '--model', 'pooled-momentun', '--runs', 'x');
    expect([code, stdout]).to.deep.equal([2, '']);
    expect(stderr).to.equal(
      'Nothing was forecast:\n' +
        '  - --runs: "x" is not a whole number of at least 1\n' +
        '  - There is no forecast model "pooled-momentun". Did you mean "pooled-momentum"? Choose one of: metro-momentum, pooled-momentum, persistence, ar1-nation, shrunk-mean.\n',
    );
  });

  it('a directory without a dataset is an error that names it', async () => {
    const { code, stderr } = await run(join(directory, 'nowhere'));
    expect(code).to.equal(1);
    expect(stderr)
      .to.include(`Cannot forecast from ${join(directory, 'nowhere')}:`)
      .and.not.include('    at ');
  });

  it('--help lists every model and has examples', async () => {
    const { code, stdout } = await run('--help');
    expect(code).to.equal(0);
    for (const { name, summary } of models) expect(stdout).to.include(name).and.include(summary);
    expect(stdout).to.include('$ metro-forecast forecast data --from 2005Q4 --to 2024Q4');
  });
});
