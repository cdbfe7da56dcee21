/** Proves that somebody else's package can build on ours, as packed, and prove its adapter by our suite. */
import { execFile } from 'node:child_process';
import { cp, mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect } from 'chai';
import { packageRoot } from '../../core/package-root.js';
import { installPacked } from '../support/packed.js';

const run = promisify(execFile);
const OUTSIDER = join(packageRoot, 'test/packages/sqlite-adapter');

interface Report {
  readonly stats: { readonly passes: number; readonly failures: number };
  readonly pending: readonly { readonly title: string }[];
  readonly failures: readonly { readonly fullTitle: string; readonly err: { readonly message: string } }[];
}

describe("an outsider's adapter package, with ours from its tarball", () => {
  let folder: string;

  before(async function () {
    this.timeout(120_000);
    folder = await mkdtemp(join(tmpdir(), 'outsider-'));
    await cp(OUTSIDER, folder, { recursive: true });
    await installPacked(folder, ['fast-check', 'mocha', 'node-sqlite3-wasm', 'pure-rand']);
  });
  after(() => rm(folder, { recursive: true, force: true }));

  it('passes the conformance suite', async function () {
    this.timeout(120_000);
    const mocha = join(folder, 'node_modules/mocha/bin/mocha.js');
    const args = [mocha, '--reporter', 'json', '--timeout', '20000', 'test/*.test.js'];
    // Its exit code is the number of failures, which the report tells better.
    const { stdout } = await run(process.execPath, args, { cwd: folder, maxBuffer: 2 ** 26 }).catch(
      (error: { stdout: string }) => error,
    );
    const { stats, failures, pending } = JSON.parse(stdout) as Report;
    expect(failures.map(({ fullTitle, err }) => `${fullTitle}: ${err.message}`)).to.deep.equal([]);
    expect(stats.passes).to.be.greaterThan(150);
    for (const { title } of pending) expect(title).to.match(/\(skipped: .+\)$/);
  });

  it('is typed by what ours exports', async function () {
    this.timeout(120_000);
    const tsc = join(packageRoot, 'node_modules/typescript/bin/tsc');
    const options = ['--allowJs', '--checkJs', '--strict', '--noEmit', '--skipLibCheck', '--target', 'es2022'];
    const typeRoots = ['--typeRoots', join(packageRoot, 'node_modules/@types'), '--types', 'node,mocha'];
    const args = [tsc, ...options, ...typeRoots, '--module', 'nodenext', 'index.js', 'test/conformance.test.js'];
    const { stdout } = await run(process.execPath, args, { cwd: folder }).catch((error: { stdout: string }) => error);
    expect(stdout).to.equal('');
  });

  it('needs under 130 lines', async () => {
    const lines = (await readFile(join(OUTSIDER, 'index.js'), 'utf8')).trimEnd().split('\n').length;
    expect(lines).to.be.lessThan(130);
  });
});
