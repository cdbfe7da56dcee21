/** `metro-forecast completion`, run by the shells themselves. */
import { execFile, execFileSync } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect } from 'chai';
import { commandNodes } from '../../cli/completion/nodes.js';
import { register } from '../../cli/completion.js';
import { createProgram } from '../../cli/main.js';
import { models as allModels } from '../../metro/forecast/models/index.js';
import { runProcess } from '../support/command-process.js';
import { runCommand } from '../support/run-command.js';
import { skip } from '../support/skip.js';

const run = promisify(execFile);
const models = allModels.map(({ name }) => name);

const isInstalled = (shell: string): boolean => {
  try {
    execFileSync(shell, ['-c', 'true']);
    return true;
  } catch {
    return false;
  }
};

describe('metro-forecast completion', () => {
  let folder: string;
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'completion-'));
    for (const shell of ['bash', 'zsh']) {
      await writeFile(join(folder, shell), await runProcess(['completion', shell], {}));
    }
  });
  after(() => rm(folder, { recursive: true, force: true }));

  /** What bash offers for the last of these words. */
  const bash = async (...words: string[]): Promise<string[]> => {
    const script = `source "$0"; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _metro_forecast; printf '%s\\n' "\${COMPREPLY[@]}"`;
    const { stdout } = await run('bash', ['-c', script, join(folder, 'bash'), 'metro-forecast', ...words]);
    return stdout.split('\n').filter((word) => word !== '');
  };

  it('offers the commands of every level in bash, as commander knows them', async function () {
    this.timeout(60_000);
    if (!isInstalled('bash')) skip(this, 'bash is not installed');
    for (const { path, commands, choices, options } of commandNodes(await createProgram())) {
      const words = path.split(' ').filter((word) => word !== '');
      expect(await bash(...words, ''), path).to.deep.equal([...commands.map(({ word }) => word), ...choices]);
      expect(await bash(...words, '--'), path).to.have.members(options.map(({ word }) => word));
    }
  });

  it('finds the command behind options with values, and offers the words or files for values', async function () {
    if (!isInstalled('bash')) skip(this, 'bash is not installed');
    expect(await bash('--config', 'keys', 'snapshots', 'pr')).to.deep.equal(['prune']);
    expect(await bash('keys', 'create', '--name', 'list', '--ti')).to.deep.equal(['--tier']);
    expect(await bash('--config', '')).to.deep.equal([]);
    expect(await bash('forecast', 'data', '--model', '')).to.deep.equal(models);
    expect(await bash('forecast', '--model', models[1]!.slice(0, 3))).to.deep.equal([models[1]]);
  });

  it('offers the same in zsh', async function () {
    this.timeout(60_000);
    if (!isInstalled('zsh')) skip(this, 'zsh is not installed');
    // What zsh would show is printed instead.
    const script = `
      compdef() { : }
      _files() { print FILES }
      _describe() { local -a shown; shown=("\${(@P)@[-1]}"); print -l -- "\${shown[@]%%:*}" }
      source "$1"
      words=("\${@[2,-1]}") CURRENT=$(($# - 1))
      _metro-forecast`;
    const zsh = async (...words: string[]): Promise<string[]> => {
      const args = ['-f', '-c', script, 'zsh', join(folder, 'zsh'), 'metro-forecast', ...words];
      return (await run('zsh', args)).stdout.trim().split('\n');
    };
    for (const { path, commands, choices, options } of commandNodes(await createProgram())) {
      const words = path.split(' ').filter((word) => word !== '');
      const found = [...commands.map(({ word }) => word), ...choices];
      expect(await zsh(...words, ''), path).to.deep.equal(found.length > 0 ? found : ['FILES']);
      expect(await zsh(...words, '--'), path).to.have.members(options.map(({ word }) => word));
    }
    expect(await zsh('--config', '')).to.deep.equal(['FILES']);
    expect(await zsh('forecast', 'data', '--model', '')).to.deep.equal(models);
    expect(await zsh('--config', 'keys', 'snapshots', '')).to.deep.equal(['list', 'activate', 'prune']);
  });

  it('describes every command to zsh', async () => {
    const { stdout, error } = await runCommand(register, ['completion', 'zsh']);
    expect(error).to.equal(undefined);
    expect(stdout).to.match(/^#compdef metro-forecast\n/);
    const text = await runProcess(['completion', 'zsh'], {});
    for (const { path, commands } of commandNodes(await createProgram())) {
      expect(text).to.contain(`"${path}")`);
      for (const { word } of commands) expect(text).to.contain(`'${word}:`);
    }
  });

  it('refuses a shell that it does not know, naming those that it does', async () => {
    const { error } = await runCommand(register, ['completion', 'fish']);
    expect(error?.message).to.contain('Allowed choices are bash, zsh');
  });
});
