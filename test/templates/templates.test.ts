/** The packages that `metro-forecast new` writes must work with this package installed from its tarball. */
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect } from 'chai';
import { register } from '../../cli/commands/new.js';
import { packageRoot } from '../../core/util/package.js';
import { request } from '../support/http-client.js';
import { installPacked } from '../support/packed.js';
import { runCommand } from '../support/run-command.js';

const run = promisify(execFile);

const SERVED = {
  plugin: ['/my-own-plugin/oslo', /^\{"data":\[\{[^}]*\},\{[^}]*\}\]\}$/],
  adapter: ['/readings', /^\{"data":\[(\{[^}]*\},?){3}\]\}$/],
  'key-store': ['/usage', /"tier":"enterprise"/],
  format: ['/readings?format=my-own-format', /^<table>/],
} as const;

describe('metro-forecast new', () => {
  let folder: string;
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'templates-'));
  });
  after(() => rm(folder, { recursive: true, force: true }));

  const write = (...args: string[]) => runCommand(register, ['new', ...args, '--to', folder]);

  it('in a clone, prints a command that installs the framework from the clone', async function () {
    this.timeout(120_000);
    const { stdout } = await write('plugin', 'from-clone');
    const [, command] = /^ {2}(npm install .*)$/m.exec(stdout) ?? [];
    expect(command).to.equal(`npm install --save-dev ${packageRoot}`);
    const cwd = join(folder, 'from-clone');
    await run('sh', ['-c', `${command} --offline --no-audit --no-fund`], { cwd });
    const { NODE_TEST_CONTEXT: _, ...env } = process.env;
    expect((await run('npm', ['test'], { cwd, env })).stdout).to.match(/fail 0/);
  });

  for (const kind of ['plugin', 'adapter', 'key-store', 'format'] as const) {
    describe(kind, () => {
      const name = `my-own-${kind}`;
      let own: string;
      before(async function () {
        this.timeout(120_000);
        const { error, stdout } = await write(kind, name, '--json');
        if (error) throw error;
        own = join(folder, name);
        expect(JSON.parse(stdout)).to.include({ folder: own }).and.to.have.property('files').that.includes('README.md');
        await installPacked(own, ['mocha']);
      });

      const metroForecast = (...args: string[]) =>
        run(process.execPath, ['node_modules/metro-forecast-api/cli/metro-forecast.js', ...args], { cwd: own });

      it('prints npm install if the framework is installed from a registry', async () => {
        const { stdout } = await metroForecast('new', kind, 'another', '--to', join(folder, `from-${kind}`));
        expect(stdout).to.match(/^ {2}npm install$/m);
      });

      it('replaces all placeholders', async () => {
        const files = (await readdir(own, { recursive: true, withFileTypes: true })).filter(
          (entry) => entry.isFile() && !entry.parentPath.includes('node_modules'),
        );
        expect(files.length).to.be.greaterThan(kind === 'key-store' ? 3 : 4);
        for (const entry of files) {
          const text = await readFile(join(entry.parentPath, entry.name), 'utf8');
          expect(`${entry.name} ${text}`).to.not.match(/\{\{\w+\}\}/);
        }
      });

      it('compiles against the exported types', async function () {
        this.timeout(120_000);
        const tsc = join(packageRoot, 'node_modules/typescript/bin/tsc');
        const options = ['--allowJs', '--checkJs', '--strict', '--noEmit', '--skipLibCheck', '--target', 'es2022'];
        const typeRoots = ['--typeRoots', join(packageRoot, 'node_modules/@types'), '--types', 'node,mocha'];
        const test = join('test', (await readdir(join(own, 'test')))[0]!);
        const args = [tsc, ...options, ...typeRoots, '--module', 'nodenext', 'index.js', test];
        const { stdout } = await run(process.execPath, args, { cwd: own }).catch((error: { stdout: string }) => error);
        expect(stdout).to.equal('');
      });

      it('passes its own tests', async function () {
        this.timeout(120_000);
        const { scripts } = JSON.parse(await readFile(join(own, 'package.json'), 'utf8'));
        const [command, ...args] = (scripts.test as string).split(' ');
        const main = command === 'mocha' ? [join('node_modules', 'mocha', 'bin', 'mocha.js'), ...args] : args;
        // With NODE_TEST_CONTEXT set, `node --test` would run no tests.
        const { NODE_TEST_CONTEXT: _, ...env } = process.env;
        const { stdout } = await run(process.execPath, main, { cwd: own, env }).catch((error: Error) => {
          throw new Error(`${error.message}\n${(error as Error & { stdout?: string }).stdout}`);
        });
        expect(stdout).to.match(/[1-9]\d* passing|# pass [1-9]|pass [1-9]/);
      });

      it('can be served with its own configuration, as its README describes', async function () {
        this.timeout(60_000);
        if (kind === 'adapter') {
          await metroForecast('--config', 'metro-forecast.json', 'publish', 'dataset');
        }
        const created = await metroForecast('--config', 'metro-forecast.json', 'keys', 'create', '--name', 'me');
        const args = [
          'node_modules/metro-forecast-api/cli/metro-forecast.js',
          '--config',
          'metro-forecast.json',
          'start',
        ];
        const service = spawn(process.execPath, args, {
          cwd: own,
          env: { PATH: process.env['PATH'], PORT: '0' },
          stdio: ['ignore', 'pipe', 'ignore'],
        });
        try {
          let output = '';
          for await (const chunk of service.stdout) {
            output += chunk;
            if (output.includes('\n')) break;
          }
          const url = /Listening on (\S+)/.exec(output)![1]!;
          const headers = { Authorization: `Bearer ${created.stdout.trim()}` };
          const [target, wanted] = SERVED[kind];
          const { status, text } = await request(`${url}${target}`, { headers });
          expect(status).to.equal(200);
          expect(text).to.match(wanted);
        } finally {
          service.kill('SIGKILL');
          if (service.exitCode === null && service.signalCode === null) await once(service, 'exit');
        }
      });

      it('reports which SDKs plugins need if they are not installed', async () => {
        for (const plugin of ['mcp', 'opentelemetry']) {
          const config = { adapter: 'memory', plugins: ['markets', plugin], auth: { keys: 'memory' } };
          await writeFile(join(own, `${plugin}.json`), JSON.stringify(config));
        }
        const main = 'node_modules/metro-forecast-api/cli/metro-forecast.js';
        for (const [args, wanted] of [
          [['--config', 'mcp.json', 'config'], 'npm install "@modelcontextprotocol/server@^'],
          [['--config', 'metro-forecast.json', 'mcp'], 'npm install "@modelcontextprotocol/server@^'],
          [['--config', 'opentelemetry.json', 'config'], 'npm install "@opentelemetry/api@~'],
        ] as const) {
          const { stderr } = await run(process.execPath, [main, ...args], { cwd: own }).then(
            () => expect.fail('The command did not fail.'),
            (error: { stderr: string }) => error,
          );
          expect(stderr)
            .to.contain(wanted)
            .and.to.not.match(/^\s+at /m);
        }
      });

      it('overwrites no files', async () => {
        const before = await readFile(join(own, 'index.js'), 'utf8');
        const { error } = await write(kind, name);
        expect(error?.message).to.equal(`${own} cannot be written: it already exists.`);
        expect(await readFile(join(own, 'index.js'), 'utf8')).to.equal(before);
      });
    });
  }

  for (const [name, guess] of [
    ['My Plugin', 'my-plugin'],
    ['Permits_2', 'permits-2'],
    ['2permits', 'permits'],
    ['../permits', 'permits'],
    ['permits-', 'permits'],
    ['@scope/permits', 'scope-permits'],
    ['äö', undefined],
    ['a'.repeat(51), undefined],
  ] as const) {
    it(`rejects the name ${JSON.stringify(name)}${guess ? ` and suggests ${guess}` : ''}`, async () => {
      const before = await readdir(folder);
      const { error } = await write('plugin', name);
      expect(error?.message).to.contain('cannot be the name of a package');
      if (guess) expect(error?.message).to.contain(`did you mean "${guess}"?`);
      expect(await readdir(folder)).to.deep.equal(before);
    });
  }

  for (const [kind, name] of [
    ['plugin', 'markets'],
    ['plugin', 'mcp'],
    ['adapter', 'memory'],
  ] as const) {
    it(`rejects ${name} for a new ${kind}, which would shadow the built-in one`, async () => {
      const { error } = await write(kind, name);
      expect(error?.message).to.contain(`a built-in ${kind}`).and.contain(`"my-${name}"`);
    });
  }

  it('creates the folder given by --to', async () => {
    const to = join(folder, 'some', 'where');
    await mkdir(join(folder, 'some'));
    const { error } = await runCommand(register, ['new', 'plugin', 'permits', '--to', to]);
    expect(error).to.equal(undefined);
    expect(await readdir(to)).to.deep.equal(['permits']);
  });
});
