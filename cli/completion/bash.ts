/** Completion for bash. Where no word fits, files are offered. */
import { type CommandNode, valuedOptions } from './nodes.js';

export const bashCompletion = (name: string, nodes: readonly CommandNode[]): string => {
  const fn = `_${name.replaceAll('-', '_')}`;
  const paths = nodes.filter(({ path }) => path !== '').map(({ path }) => `"${path}"`);
  const valued = valuedOptions(nodes);
  const values = valued
    .filter(({ choices }) => choices.length > 0)
    .map(({ word, choices }) => `      ${word}) COMPREPLY=($(compgen -W "${choices.join(' ')}" -- "$current")) ;;\n`);
  const cases = nodes.map(({ path, commands, options, choices }) => {
    const words = [...commands.map(({ word }) => word), ...choices];
    return `    "${path}") words="${words.join(' ')}"; options="${options.map(({ word }) => word).join(' ')}" ;;`;
  });
  return `# bash completion for ${name}
${fn}() {
  local current="\${COMP_WORDS[COMP_CWORD]}" at="" words="" options="" i
  for ((i = 1; i < COMP_CWORD; i++)); do
    case "\${COMP_WORDS[i]}" in
      ${valued.map(({ word }) => word).join('|')}) ((i++)); continue ;;
    esac
    case "$at \${COMP_WORDS[i]}" in
      ${paths.join('|')}) at="$at \${COMP_WORDS[i]}" ;;
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
