/** Extracts fenced code blocks from Markdown files, so that tests can run them. */
import { readFileSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { packageRoot } from '../../core/util/package.js';

export interface Snippet {
  /** First word after the fence, such as `sh`, `json` or `ts`. Empty if there is none. */
  readonly language: string;
  readonly info: string;
  readonly code: string;
  readonly heading: string;
  readonly line: number;
}

/** Sets the fields of a JSON file to the values in the code of an `add` block. */
export const addTo = async (path: string, code: string): Promise<void> =>
  writeFile(path, JSON.stringify({ ...JSON.parse(await readFile(path, 'utf8')), ...JSON.parse(code) }));

export const snippetsOf = (path: string): Snippet[] =>
  parseSnippets(readFileSync(join(packageRoot, path), 'utf8'), path);

export const parseSnippets = (markdown: string, source = 'the text'): Snippet[] => {
  const found: Snippet[] = [];
  const lines = markdown.split('\n');
  let heading = '';
  for (let i = 0; i < lines.length; i++) {
    const line = lines[i]!;
    heading = /^#+ (.+)$/.exec(line)?.[1] ?? heading;
    // Blocks in lists are indented.
    const fence = /^( *)(`{3,})(\S*) *(.*)$/.exec(line);
    if (!fence) continue;
    const [, indent = '', ticks = '', language = '', info = ''] = fence;
    const start = i + 1;
    do i++;
    while (i < lines.length && lines[i]!.trim() !== ticks);
    if (i === lines.length) throw new Error(`${source}:${start}: this code block does not end`);
    const code = lines
      .slice(start, i)
      .map((each) => (each.startsWith(indent) ? each.slice(indent.length) : each))
      .join('\n');
    found.push({ language, info, code: `${code}\n`, heading, line: start });
  }
  return found;
};
