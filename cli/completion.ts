/** `metro-forecast completion`: prints a shell's completion, made from the commands as they are. */
import { Argument, type Command } from 'commander';
import { bashCompletion } from './completion/bash.js';
import { commandNodes } from './completion/nodes.js';
import { zshCompletion } from './completion/zsh.js';
import { EXIT_CODES } from './report.js';

const SHELLS = { bash: bashCompletion, zsh: zshCompletion } as const;

export const register = (program: Command): void => {
  program
    .command('completion')
    .description('print the completion of commands and options for a shell')
    .addArgument(new Argument('<shell>', 'which shell').choices(Object.keys(SHELLS)))
    .addHelpText(
      'after',
      `
Examples:
  $ source <(metro-forecast completion bash)                                for this shell
  $ metro-forecast completion bash > ~/.local/share/bash-completion/completions/metro-forecast
  $ metro-forecast completion zsh > "\${fpath[1]}/_metro-forecast"           then begin a new shell

Exit codes: ${EXIT_CODES}.`,
    )
    .action((shell: keyof typeof SHELLS) => {
      process.stdout.write(SHELLS[shell](program.name(), commandNodes(program)));
    });
};
