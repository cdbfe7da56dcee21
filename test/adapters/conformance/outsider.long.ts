/**
 * The tarball must work in a package outside the repository: its types, both module systems, and the conformance suite.
 */
import { execFile } from 'node:child_process';
import { cp, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect } from 'chai';
import { packageRoot } from '../../../core/util/package.js';
import { installPacked } from '../../support/packed.js';
import { snippetsOf } from '../../support/snippets.js';

const run = promisify(execFile);
const OUTSIDER = join(packageRoot, 'test/packages/sqlite-adapter');

interface Report {
  readonly stats: { readonly passes: number; readonly failures: number };
  readonly pending: readonly { readonly title: string }[];
  readonly failures: readonly { readonly fullTitle: string; readonly err: { readonly message: string } }[];
}

describe('an external adapter package that installs the tarball', () => {
  let folder: string;
  let errors: string;

  before(async function () {
    this.timeout(120_000);
    folder = await mkdtemp(join(tmpdir(), 'outsider-'));
    await cp(OUTSIDER, folder, { recursive: true });
    await cp(join(packageRoot, 'test/packages/typescript-service'), join(folder, 'service'), { recursive: true });
    await mkdir(join(folder, 'pages'));
    for (const { info, code } of snippetsOf('docs/tutorials/first-plugin.md')) {
      if (code.includes('definePlugin(')) await writeFile(join(folder, 'pages', info), code);
    }
    await installPacked(folder, ['@types/mocha', 'fast-check', 'mocha', 'node-sqlite3-wasm', 'pure-rand']);
    const tsc = join(packageRoot, 'node_modules/typescript/bin/tsc');
    ({ stdout: errors } = await run(process.execPath, [tsc, '--project', join(folder, 'service')]).catch(
      (error: { stdout: string }) => error,
    ));
  });
  after(() => rm(folder, { recursive: true, force: true }));

  it('passes the conformance suite', async function () {
    this.timeout(120_000);
    const mocha = join(folder, 'node_modules/mocha/bin/mocha.js');
    const args = [mocha, '--reporter', 'json', '--timeout', '20000', 'test/*.test.js'];
    // The exit code is the number of failures. The report contains their titles.
    const { stdout } = await run(process.execPath, args, { cwd: folder, maxBuffer: 2 ** 26 }).catch(
      (error: { stdout: string }) => error,
    );
    const { stats, failures, pending } = JSON.parse(stdout) as Report;
    expect(failures.map(({ fullTitle, err }) => `${fullTitle}: ${err.message}`)).to.deep.equal([]);
    expect(stats.passes).to.be.greaterThan(150);
    for (const { title } of pending) expect(title).to.match(/\(skipped: .+\)$/);
  });

  it('compiles as a strict TypeScript project', () => {
    expect(errors).to.equal('');
  });

  it('can be embedded by a CommonJS program', async () => {
    const program = "const { start } = require('./built/service/embed.cjs'); import('./built/service/plugin.js')";
    const { stdout } = await run(
      process.execPath,
      ['--eval', `${program}.then(({ default: plugin }) => start(plugin)).then(console.log)`],
      { cwd: join(folder, 'service') },
    );
    expect(JSON.parse(stdout).paths).to.include.keys('/permits/{city}', '/permits-caller');
  });

  it('gets the advice to rename an ES module plugin in a CommonJS package to .mjs', async () => {
    const legacy = join(folder, 'legacy');
    await mkdir(legacy);
    await writeFile(join(legacy, 'package.json'), '{"type": "commonjs"}');
    for (const name of ['count.js', 'count.mjs']) await cp(join(folder, 'pages/grades.js'), join(legacy, name));
    const config = { adapter: 'memory', plugins: ['markets', './count.mjs'], auth: { keys: 'memory' } };
    await writeFile(join(legacy, 'right.json'), JSON.stringify(config));
    await writeFile(join(legacy, 'wrong.json'), JSON.stringify({ ...config, plugins: ['markets', './count.js'] }));
    const main = join(folder, 'node_modules/metro-forecast-api/cli/metro-forecast.js');
    await run(process.execPath, [main, '--config', 'right.json', 'types'], { cwd: legacy });
    const { stderr } = await run(process.execPath, [main, '--config', 'wrong.json', 'types'], { cwd: legacy }).then(
      () => expect.fail('Loading did not fail.'),
      (error: { stderr: string }) => error,
    );
    expect(stderr).to.contain('./count.js').and.contain('name the file .mjs');
  });

  it('needs fewer than 135 lines', async () => {
    const lines = (await readFile(join(OUTSIDER, 'index.js'), 'utf8')).trimEnd().split('\n').length;
    expect(lines).to.be.lessThan(135);
  });
});
