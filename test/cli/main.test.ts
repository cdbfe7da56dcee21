import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect } from 'chai';
import type { Command } from 'commander';
import { commandsIn, createProgram } from '../../cli/main.js';
import { packageRoot, packageVersion } from '../../core/util/package.js';
import { commandArgs } from '../support/command-process.js';

interface Ended {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

const run = (args: readonly string[], env: Readonly<Record<string, string>> = {}): Promise<Ended> =>
  promisify(execFile)(process.execPath, commandArgs(args), {
    cwd: packageRoot,
    env: { PATH: process.env['PATH'], ...env },
  }).then(
    ({ stdout, stderr }) => ({ code: 0, stdout, stderr }),
    (error: Ended) => error,
  );

const helpOf = (command: Command): string => {
  let text = '';
  command.configureOutput({
    writeOut: (part) => {
      text += part;
    },
  });
  command.outputHelp();
  return text;
};

const all = (command: Command, path = ''): [path: string, command: Command][] =>
  command.commands.flatMap((child) => {
    const name = `${path} ${child.name()}`.trim();
    return [[name, child], ...all(child, name)] as [string, Command][];
  });

const program = await createProgram();

describe('the command line', () => {
  for (const [path, command] of all(program)) {
    it(`${path} --help has an example and the exit codes`, () => {
      const help = helpOf(command);
      expect(help).to.match(/^Examples?:\n {2}\S/m);
      expect(help).to.match(/^Exit codes: 0 .+, 1 .+, 2 .+\.$/m);
      expect(command.description(), 'description').to.not.equal('');
    });
  }

  for (const [args, near] of [
    [['strat'], 'start'],
    [['keys', 'creat'], 'create'],
    [['validate', '.', '--jsn'], '--json'],
    [['new', 'pluggin', 'x'], 'plugin'],
  ] as const) {
    it(`${args.join(' ')} is wrong usage, and the nearest name is suggested`, async () => {
      const { code, stdout, stderr } = await run(args);
      expect([code, stdout]).to.deep.equal([2, '']);
      expect(stderr).to.contain(`Did you mean ${near}?`);
    });
  }

  it('a failure is printed on standard error without a stack, with exit code 1', async () => {
    const { code, stdout, stderr } = await run(['validate', '/nowhere']);
    expect([code, stdout]).to.deep.equal([1, '']);
    expect(stderr).to.equal('/nowhere/manifest.json cannot be read: it does not exist, or its folder does not.\n');
  });

  it('with --json failures and wrong usage are one JSON object each, on standard error', async () => {
    for (const [args, code] of [
      [['validate', '/nowhere', '--json'], 1],
      [['validate', '--json'], 2],
    ] as const) {
      const ended = await run(args);
      expect([ended.code, ended.stdout]).to.deep.equal([code, '']);
      expect(JSON.parse(ended.stderr)).to.have.all.keys('error', 'faults').and.to.have.property('error').that.is.not
        .empty;
    }
  });

  it('the errors of a configuration are listed, as text and as JSON', async () => {
    const { stderr } = await run(['config', '--json'], { METRO__SERVER__PORT: 'x', METRO__LIMITS__REPLICAS: '0' });
    const { error, faults } = JSON.parse(stderr);
    expect(error).to.match(/has 2 errors:$/);
    expect(faults).to.have.length(2);
    expect(faults.join()).to.contain('server.port').and.to.contain('limits.replicas');
  });

  it('the errors of modules are reported together with all other errors', async () => {
    const { stderr } = await run(['config', '--json'], {
      METRO__SERVER__PORT: 'x',
      METRO__ADAPTER: 'jsno',
      METRO__PLUGINS: '["markts"]',
    });
    const { faults } = JSON.parse(stderr);
    expect(faults).to.have.length(3);
    expect(faults.join()).to.contain('did you mean "json"?').and.to.contain('did you mean "markets"?');
  });

  const placesOf = async (env: Readonly<Record<string, string>>) => {
    const { code, stderr } = await run(['config', '--json'], env);
    expect(code).to.equal(1);
    const { faults } = JSON.parse(stderr) as { faults: string[] };
    return faults.map((fault) => fault.split(/[ :]/)[0]);
  };

  it('unknown tiers and endpoints, conflicting plugins and invalid addresses are reported together', async () => {
    const env = {
      METRO__SERVER__PORT: 'x',
      METRO__AUTH__TIERS: '{"free":{"requestsPerDay":0,"endpoints":["markts","/status","/usage"]}}',
      METRO__AUTH__ANONYMOUS: 'fre',
      METRO__AUTH__KEYS: 'mongo',
      METRO__PLUGINS: '["markets","markets","status"]',
      MONGODB_URI: 'mongodb://user:a@b@host/',
    };
    expect(await placesOf(env)).to.have.members([
      'server.port',
      'auth.tiers.free.requestsPerDay',
      'auth.anonymous',
      'auth.keys.options.uri',
      'plugins[1]',
      'auth.tiers.free.endpoints[0]',
      'auth.tiers.free.endpoints[1]',
    ]);
    const { METRO__PLUGINS: _, METRO__SERVER__PORT: _port, ...others } = env;
    const alone = await placesOf({ ...others, METRO__AUTH__TIERS: '{"free":{"endpoints":["markts","/status"]}}' });
    expect(alone).to.deep.equal([
      'auth.anonymous',
      'auth.keys.options.uri',
      'auth.tiers.free.endpoints[0]',
      'auth.tiers.free.endpoints[1]',
    ]);
  });

  it('an unknown endpoint is not reported if a plugin is misspelt, because that plugin may declare the endpoint', async () => {
    const places = await placesOf({
      METRO__PLUGINS: '["markets","forecats"]',
      METRO__AUTH__TIERS: '{"free":{"endpoints":["forecasts","marekts"]}}',
    });
    expect(places).to.deep.equal(['plugins[1]', 'auth.tiers.free.endpoints[1]']);
  });

  it('a conflict with a route of the framework is printed as text, like all other errors', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'main-'));
    const core = join(packageRoot, 'dist/core/contracts/plugin.js');
    await writeFile(
      join(folder, 'mine.mjs'),
      `import { serviceRoute } from ${JSON.stringify(core)};
      export default { kind: 'plugin', name: 'mine', version: '1.0.0', description: 'Mine.', routes: () => [serviceRoute({
        path: '/openapi.json', operationId: 'getMine', summary: 'Mine', handler: async () => ({}),
        response: { description: 'It.', schema: { type: 'object' }, example: {} } })] };`,
    );
    const { stderr } = await run(['start'], {
      METRO__PLUGINS: JSON.stringify([join(folder, 'mine.mjs')]),
      METRO__ADAPTER: 'jsno',
    });
    await rm(folder, { recursive: true });
    expect(stderr).to.match(/^ {2}- adapter: .*\n {2}- .*both declare route \/openapi\.json\n/m);
  });

  for (const args of [
    ['keys', 'create', '--name', 'a', '--limit', '0'],
    ['keys', 'create', '--name', ''],
    ['keys', 'create', '--name', 'a', '--expires', 'soon'],
    ['keys', 'create', '--name', 'a', '--tier', 'none'],
    ['forecast', '.', '--runs', '0'],
    ['new', 'plugin', 'No Name'],
  ]) {
    it(`${args.join(' ')} is rejected with exit code 2`, async () => {
      const folder = await mkdtemp(join(tmpdir(), 'main-'));
      const env = { METRO__AUTH__KEYS: JSON.stringify({ use: 'file', options: { path: join(folder, 'keys.json') } }) };
      const { code, stdout, stderr } = await run(args, env);
      await rm(folder, { recursive: true });
      expect([code, stdout]).to.deep.equal([2, '']);
      expect(stderr).to.not.contain('Unexpected');
    });
  }

  it('a reader that closes the output early causes no error', async () => {
    const line = [process.execPath, ...commandArgs(['config', '--schema'])].join(' ');
    const { stdout, stderr } = await promisify(execFile)('bash', ['-c', `set -o pipefail; ${line} | head -1`], {
      cwd: packageRoot,
    });
    expect([stdout, stderr]).to.deep.equal(['{\n', '']);
  });

  it('--version loads no command', async () => {
    expect((await run(['--version'])).stdout).to.equal(`${packageVersion}\n`);
    expect(commandsIn(['node', 'metro-forecast', '--version'])).to.deep.equal([]);
    expect(commandsIn(['node', 'metro-forecast', '--help'])).to.deep.equal([]);
    expect(commandsIn(['node', 'metro-forecast', 'help', 'start'])).to.deep.equal(['start']);
    expect(commandsIn(['node', 'metro-forecast', 'completion', 'bash'])).to.include('start');
  });

  it('shows the same help whether or not the commands are loaded', async () => {
    expect(helpOf(await createProgram([]))).to.equal(helpOf(program));
  });
});
