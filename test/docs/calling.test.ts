/** Runs the examples of docs/guides/calling.md in every installed language. */
import { execFile, execFileSync } from 'node:child_process';
import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect } from 'chai';
import type { Context } from 'mocha';
import { packageRoot } from '../../core/util/package.js';
import { needPandas } from '../support/pandas.js';
import { skip } from '../support/skip.js';
import { snippetsOf } from '../support/snippets.js';
import { startTestApp, type TestApp } from '../support/test-app.js';

const run = promisify(execFile);

const need = (context: Context, what: string, program: string, args: readonly string[]): void => {
  try {
    execFileSync(program, args, { stdio: 'ignore' });
  } catch {
    skip(context, `there is no ${what}`);
  }
};

describe('docs/guides/calling.md', () => {
  let app: TestApp;
  let folder: string;
  let env: Record<string, string>;
  let summary: string;

  before(async () => {
    app = await startTestApp();
    folder = await mkdtemp(join(tmpdir(), 'calling-'));
    env = { METRO_API: app.url, API_KEY: app.key };
    const rows = async (target: string) => (await app.get(target)).json.data.length;
    summary = [
      await rows('/markets'),
      (await app.get('/markets/26420')).json.name,
      await rows('/observations?series_id=metro_hpi&cbsa=26420&since=2020-01-01'),
      await rows('/movers?limit=10'),
      await rows('/markets/26420/forecast-track'),
    ].join(' ');
  });
  after(async () => {
    await app.close();
    await rm(folder, { recursive: true, force: true });
  });

  const snippet = (heading: string, language: string, page = 'docs/guides/calling.md'): string => {
    const found = snippetsOf(page).filter((one) => one.heading === heading && one.language === language);
    expect(found, `blocks of ${language} below "${heading}"`).to.have.length(1);
    return found[0]!.code;
  };

  it('its curl commands get the documented responses', async function () {
    need(this, 'curl', 'curl', ['--version']);
    const lines = snippet('curl', 'sh').trim().split('\n');
    expect(lines).to.have.length(5);
    for (const line of lines) {
      const { stdout } = await run('sh', ['-c', line], { env: { ...process.env, ...env } });
      const target = /\$METRO_API(\/[^"]+)/.exec(line)![1]!;
      expect(stdout, line).to.equal((await app.get(target)).text);
      expect(stdout, line).to.not.equal('');
    }
  });

  const python = async (context: Context, heading: string): Promise<string> => {
    const runPython = await needPandas(context);
    const environment = `import os\nos.environ.update(${JSON.stringify(env)})\n`;
    return runPython(`${environment}${snippet(heading, 'python')}`, '');
  };

  it('its Python program runs with requests', async function () {
    this.timeout(120_000);
    need(this, 'requests for python3', 'python3', ['-c', 'import requests']);
    expect(await python(this, 'Python')).to.equal(`${summary}\n`);
  });

  it('its pandas program runs, with codes as text and dates as dates', async function () {
    this.timeout(120_000);
    const [first, mean] = (await python(this, 'pandas')).trim().split('\n');
    expect(first).to.equal(summary);
    expect(Number(mean)).to.be.closeTo(9.5, 1e-9);
  });

  it('its R program runs with httr2', async function () {
    this.timeout(120_000);
    need(this, 'R with httr2', 'Rscript', ['-e', 'library(httr2)']);
    const file = join(folder, 'calls.R');
    await writeFile(file, snippet('R', 'r'));
    const { stdout } = await run('Rscript', [file], { env: { ...process.env, ...env } });
    expect(stdout.trim()).to.equal(summary);
  });

  it('its TypeScript program compiles, and runs with the client of the package', async function () {
    this.timeout(60_000);
    await mkdir(join(folder, 'node_modules'));
    await symlink(packageRoot, join(folder, 'node_modules/metro-forecast-api'), 'dir');
    // Without type annotations, the same program is valid TypeScript and JavaScript.
    for (const name of ['calls.mts', 'calls.mjs']) await writeFile(join(folder, name), snippet('TypeScript', 'ts'));
    const types = ['--typeRoots', join(packageRoot, 'node_modules/@types'), '--types', 'node'];
    const options = ['--strict', '--noEmit', '--skipLibCheck', '--target', 'es2022', '--module', 'nodenext', ...types];
    const tsc = join(packageRoot, 'node_modules/typescript/bin/tsc');
    const checked = await run(process.execPath, [tsc, ...options, 'calls.mts'], { cwd: folder }).catch(
      (error: { stdout: string }) => error,
    );
    expect(checked.stdout).to.equal('');
    const { stdout } = await run(process.execPath, ['calls.mjs'], { cwd: folder, env: { ...process.env, ...env } });
    expect(stdout).to.equal(`${summary}\nmarket_not_found\n`);
  });

  it('the example error of docs/reference/http-api.md equals the response of the API', async () => {
    const { status, json } = await app.get('/movers?limit=51');
    expect([status, json]).to.deep.equal([
      400,
      JSON.parse(snippet('Errors and limits', 'json', 'docs/reference/http-api.md')),
    ]);
  });
});
