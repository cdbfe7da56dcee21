import { Argument, type Command } from 'commander';
import { write } from '../output.js';
import { EXIT_CODES } from '../report.js';

interface Candidate {
  readonly word: string;
  readonly description: string;
}

interface ValuedOption {
  readonly word: string;
  readonly choices: readonly string[];
}

interface CommandNode {
  readonly path: string;
  readonly commands: readonly Candidate[];
  readonly options: readonly Candidate[];
  readonly choices: readonly string[];
  readonly valued: readonly ValuedOption[];
}

/** Returns the program and its commands, depth first. The options of the program apply to every command. */
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
        required
          ? [short, long].filter((word) => word !== undefined).map((word) => ({ word, choices: argChoices }))
          : [],
      ),
    };
    return [node, ...commands.flatMap((one) => walk(one, `${path} ${one.name()}`))];
  };
  return walk(program, '');
};

const valuedOptions = (nodes: readonly CommandNode[]): ValuedOption[] => {
  const byWord = new Map<string, ValuedOption>();
  for (const { word, choices } of nodes.flatMap(({ valued }) => valued)) {
    byWord.set(word, { word, choices: [...new Set([...(byWord.get(word)?.choices ?? []), ...choices])] });
  }
  return [...byWord.values()];
};

const partsOf = (nodes: readonly CommandNode[]) => {
  const valued = valuedOptions(nodes);
  return {
    paths: nodes
      .filter(({ path }) => path !== '')
      .map(({ path }) => `"${path}"`)
      .join('|'),
    valued: valued.map(({ word }) => word).join('|'),
    limited: valued.filter(({ choices }) => choices.length > 0),
  };
};

/** Returns the completion script for bash, which suggests files if no word matches. */
const bashCompletion = (name: string, nodes: readonly CommandNode[]): string => {
  const fn = `_${name.replaceAll('-', '_')}`;
  const { paths, valued, limited } = partsOf(nodes);
  const values = limited.map(
    ({ word, choices }) => `      ${word}) COMPREPLY=($(compgen -W "${choices.join(' ')}" -- "$current")) ;;\n`,
  );
  const cases = nodes.map(({ path, commands, options, choices }) => {
    const words = [...commands.map(({ word }) => word), ...choices];
    return `    "${path}") words="${words.join(' ')}"; options="${options.map(({ word }) => word).join(' ')}" ;;`;
  });
  return `# bash completion for ${name}
${fn}() {
  local current="\${COMP_WORDS[COMP_CWORD]}" at="" words="" options="" i
  for ((i = 1; i < COMP_CWORD; i++)); do
    case "\${COMP_WORDS[i]}" in
      ${valued}) ((i++)); continue ;;
    esac
    case "$at \${COMP_WORDS[i]}" in
      ${paths}) at="$at \${COMP_WORDS[i]}" ;;
    esac
  done
  COMPREPLY=()
  # The value of an option: a file, if no words are known.
  if ((i > COMP_CWORD)); then
    case "\${COMP_WORDS[COMP_CWORD - 1]}" in
${values.join('')}    esac
    return
  fi
  case "$at" in
${cases.join('\n')}
  esac
  if [[ $current == -* ]]; then words="$options"; fi
  COMPREPLY=($(compgen -W "$words" -- "$current"))
}
complete -o default -F ${fn} ${name}
`;
};

const quote = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`;

/** zsh expects a colon between a word and its description. */
const described = ({ word, description }: Candidate): string => quote(`${word}:${description.replaceAll(':', '\\:')}`);

const zshCompletion = (name: string, nodes: readonly CommandNode[]): string => {
  const fn = `_${name}`;
  const { paths, valued, limited } = partsOf(nodes);
  const values = limited.map(({ word, choices }) => `      ${word}) found=(${choices.map(quote).join(' ')}) ;;\n`);
  const cases = nodes.map(({ path, commands, options, choices }) => {
    const words = [...commands.map(described), ...choices.map(quote)];
    return `    "${path}")
      found=(${words.join(' ')})
      flags=(${options.map(described).join(' ')}) ;;`;
  });
  return `#compdef ${name}
${fn}() {
  local at="" i
  local -a found flags
  for ((i = 2; i < CURRENT; i++)); do
    case "\${words[i]}" in
      ${valued}) ((i++)); continue ;;
    esac
    case "$at \${words[i]}" in
      ${paths}) at="$at \${words[i]}" ;;
    esac
  done
  # The value of an option: a file, if no words are known.
  if ((i > CURRENT)); then
    case "\${words[CURRENT - 1]}" in
${values.join('')}    esac
    if (( \${#found} )); then _describe value found; else _files; fi
    return
  fi
  case "$at" in
${cases.join('\n')}
  esac
  if [[ "\${words[CURRENT]}" == -* ]]; then
    _describe -o option flags
  elif (( \${#found} )); then
    _describe command found
  else
    _files
  fi
}
if [[ "\${funcstack[1]}" == "${fn}" ]]; then ${fn} "$@"; else compdef ${fn} ${name}; fi
`;
};

const SHELLS = { bash: bashCompletion, zsh: zshCompletion } as const;

export const register = (command: Command): void => {
  command
    .addArgument(new Argument('<shell>', 'the shell').choices(Object.keys(SHELLS)))
    .addHelpText(
      'after',
      `
Examples:
  $ source <(metro-forecast completion bash)                                in this shell
  $ metro-forecast completion bash > ~/.local/share/bash-completion/completions/metro-forecast
  $ metro-forecast completion zsh > "\${fpath[1]}/_metro-forecast"           then start a new shell

Exit codes: ${EXIT_CODES}.`,
    )
    .action((shell: keyof typeof SHELLS) => {
      const program = command.parent!;
      write(SHELLS[shell](program.name(), commandNodes(program)));
    });
};
