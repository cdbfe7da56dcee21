import { execFile, execFileSync } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect } from 'chai';
import { commandNodes, register } from '../../../cli/commands/completion.js';
import { createProgram } from '../../../cli/main.js';
import { models as allModels } from '../../../plugins/metro/forecast/models/index.js';
import { runProcess } from '../../support/command-process.js';
import { runCommand } from '../../support/run-command.js';
import { skip } from '../../support/skip.js';

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

  const END = '--end--';

  const offered = async (shell: string, ask: string, lines: readonly (readonly string[])[]): Promise<string[][]> => {
    const quote = (word: string) => `'${word.replaceAll("'", "'\\''")}'`;
    const calls = lines.map((words) => `ask ${['metro-forecast', ...words].map(quote).join(' ')}`);
    const script = [`source ${quote(join(folder, shell))}`, ask, ...calls].join('\n');
    const { stdout } = await run(shell, [...(shell === 'zsh' ? ['-f'] : []), '-c', script]);
    const answers = stdout.split(`${END}\n`).slice(0, -1);
    return answers.map((answer) => answer.split('\n').filter((word) => word !== ''));
  };
  const inBash = (...lines: string[][]) =>
    offered(
      'bash',
      `ask() { COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); COMPREPLY=(); _metro_forecast
        printf '%s\\n' "\${COMPREPLY[@]}" ${END}; }`,
      lines,
    );
  // zsh displays completions with functions such as `_describe`. The test redefines them to print the completions.
  const inZsh = (...lines: string[][]) =>
    offered(
      'zsh',
      `compdef() { : }
      _files() { print FILES }
      _describe() { local -a shown; shown=("\${(@P)@[-1]}"); print -l -- "\${shown[@]%%:*}" }
      ask() { words=("$@") CURRENT=$#; _metro-forecast; print -- ${END} }`,
      lines,
    );

  const everyCommand = async () =>
    commandNodes(await createProgram()).map(({ path, commands, choices, options }) => ({
      path,
      lines: ['', '--'].map((last) => [...path.split(' ').filter((word) => word !== ''), last]),
      found: [...commands.map(({ word }) => word), ...choices],
      options: options.map(({ word }) => word),
    }));

  it('offers all commands and options of commander in bash', async function () {
    if (!isInstalled('bash')) skip(this, 'bash is not installed');
    const all = await everyCommand();
    const answers = await inBash(...all.flatMap(({ lines }) => lines));
    expect(answers).to.have.length(2 * all.length);
    for (const [i, { path, found, options }] of all.entries()) {
      expect(answers[2 * i], path).to.deep.equal(found);
      expect(answers[2 * i + 1], path).to.have.members(options);
    }
  });

  it('recognises a command after options with values, and completes option values with words or files', async function () {
    if (!isInstalled('bash')) skip(this, 'bash is not installed');
    const answers = await inBash(
      ['--config', 'keys', 'snapshots', 'pr'],
      ['keys', 'create', '--name', 'list', '--ti'],
      ['--config', ''],
      ['forecast', 'data', '--model', ''],
      ['forecast', '--model', models[1]!.slice(0, 3)],
    );
    expect(answers).to.deep.equal([['prune'], ['--tier'], [], models, [models[1]]]);
  });

  it('offers the same in zsh', async function () {
    if (!isInstalled('zsh')) skip(this, 'zsh is not installed');
    const all = await everyCommand();
    const answers = await inZsh(...all.flatMap(({ lines }) => lines));
    expect(answers).to.have.length(2 * all.length);
    for (const [i, { path, found, options }] of all.entries()) {
      expect(answers[2 * i], path).to.deep.equal(found.length > 0 ? found : ['FILES']);
      expect(answers[2 * i + 1], path).to.have.members(options);
    }
    const ofValues = await inZsh(
      ['--config', ''],
      ['forecast', 'data', '--model', ''],
      ['--config', 'keys', 'snapshots', ''],
    );
    expect(ofValues).to.deep.equal([['FILES'], models, ['list', 'activate', 'prune', 'audit']]);
  });

  it('passes a description of every command to zsh', async () => {
    const { stdout, error } = await runCommand(register, ['completion', 'zsh']);
    expect(error).to.equal(undefined);
    expect(stdout).to.match(/^#compdef metro-forecast\n/);
    const text = await runProcess(['completion', 'zsh'], {});
    for (const { path, commands } of commandNodes(await createProgram())) {
      expect(text).to.contain(`"${path}")`);
      for (const { word } of commands) expect(text).to.contain(`'${word}:`);
    }
  });

  it('rejects an unknown shell and lists the supported shells', async () => {
    const { error } = await runCommand(register, ['completion', 'fish']);
    expect(error?.message).to.contain('Allowed choices are bash, zsh');
  });
});
