/** Completion for zsh, with the descriptions. Where a command takes no further words, files are offered. */
import { type Candidate, type CommandNode, valuedOptions } from './nodes.js';

const quote = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`;

/** Colons part the word from its description. */
const described = ({ word, description }: Candidate): string => quote(`${word}:${description.replaceAll(':', '\\:')}`);

export const zshCompletion = (name: string, nodes: readonly CommandNode[]): string => {
  const fn = `_${name}`;
  const paths = nodes.filter(({ path }) => path !== '').map(({ path }) => `"${path}"`);
  const valued = valuedOptions(nodes);
  const values = valued
    .filter(({ choices }) => choices.length > 0)
    .map(({ word, choices }) => `      ${word}) found=(${choices.map(quote).join(' ')}) ;;\n`);
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
      ${valued.map(({ word }) => word).join('|')}) ((i++)); continue ;;
    esac
    case "$at \${words[i]}" in
      ${paths.join('|')}) at="$at \${words[i]}" ;;
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
