/** The tree of commands as completion needs it: what can follow each command. */
import type { Command } from 'commander';

export interface Candidate {
  /** `create`, `--name`. */
  readonly word: string;
  readonly description: string;
}

export interface ValuedOption {
  /** `-c`, `--config`. */
  readonly word: string;
  readonly choices: readonly string[];
}

export interface CommandNode {
  /** The words after the program's name, each with a space before it: ` keys create`; empty for the program itself. */
  readonly path: string;
  readonly commands: readonly Candidate[];
  readonly options: readonly Candidate[];
  /** Words that an argument may be. */
  readonly choices: readonly string[];
  /** Options that take a value, with the allowed values where these are limited. */
  readonly valued: readonly ValuedOption[];
}

/** The program first, then depth first. Every command has the program's options. */
export const commandNodes = (program: Command): CommandNode[] => {
  const walk = (command: Command, path: string): CommandNode[] => {
    const help = command.createHelp();
    const commands = help.visibleCommands(command).filter((one) => one.name() !== 'help');
    const options = [...help.visibleOptions(command), ...(command === program ? [] : program.options)];
    const node: CommandNode = {
      path,
      commands: commands.map((one) => ({ word: one.name(), description: one.description() })),
      options: options.flatMap(({ long, description }) => (long ? [{ word: long, description }] : [])),
      choices: command.registeredArguments.flatMap(({ argChoices = [] }) => argChoices),
      valued: options.flatMap(({ short, long, required, argChoices = [] }) =>
        required ? [short, long].filter(isText).map((word) => ({ word, choices: argChoices })) : [],
      ),
    };
    return [node, ...commands.flatMap((one) => walk(one, `${path} ${one.name()}`))];
  };
  return walk(program, '');
};

const isText = (value: string | undefined): value is string => value !== undefined;

/** All options that take a value, of any command, so that completion does not read the value as a command. */
export const valuedOptions = (nodes: readonly CommandNode[]): ValuedOption[] => {
  const byWord = new Map<string, ValuedOption>();
  for (const { word, choices } of nodes.flatMap(({ valued }) => valued)) {
    byWord.set(word, { word, choices: [...new Set([...(byWord.get(word)?.choices ?? []), ...choices])] });
  }
  return [...byWord.values()];
};
