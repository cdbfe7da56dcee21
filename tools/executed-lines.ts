/** Computes the executed source lines from the coverage files that V8 writes for each process (`NODE_V8_COVERAGE`). */
import { readdir, readFile } from 'node:fs/promises';
import { SourceMap } from 'node:module';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';

export interface FileCoverage {
  readonly file: string;
  readonly lines: number;
  readonly missed: readonly number[];
}

interface Script {
  readonly url: string;
  readonly functions: readonly {
    readonly ranges: readonly { readonly startOffset: number; readonly endOffset: number; readonly count: number }[];
  }[];
}

/** Returns no scripts if a killed process left the file incomplete. */
const scriptsOf = (text: string): readonly Script[] => {
  try {
    return JSON.parse(text).result;
  } catch {
    return [];
  }
};

const mark = (ran: Uint8Array, { functions }: Script): void => {
  const inOneProcess = new Uint8Array(ran.length);
  const ranges = functions.flatMap((each) => each.ranges);
  ranges.sort((a, b) => a.startOffset - b.startOffset || b.endOffset - a.endOffset);
  for (const { startOffset, endOffset, count } of ranges) inOneProcess.fill(count > 0 ? 1 : 0, startOffset, endOffset);
  for (const [at, passed] of inOneProcess.entries()) if (passed) ran[at] = 1;
};

/** A line counts as executed if any of its code ran. Lines without code do not count. */
const byLine = (file: string, code: string, map: SourceMap, ran: Uint8Array): FileCoverage => {
  const lines = new Map<number, boolean>();
  let offset = 0;
  for (const [index, text] of code.split('\n').entries()) {
    for (let column = 0; column < text.length; column++) {
      const entry = map.findEntry(index, column);
      const starts = 'originalLine' in entry && entry.generatedLine === index && entry.generatedColumn === column;
      if (!starts) continue;
      const line = entry.originalLine + 1;
      lines.set(line, lines.get(line) === true || ran[offset + column] === 1);
    }
    offset += text.length + 1;
  }
  const missed = [...lines].filter(([, passed]) => !passed).map(([line]) => line);
  return { file, lines: lines.size, missed: missed.sort((a, b) => a - b) };
};

/**
 * @param written folders with coverage files of V8
 * @param compiled folder of the compiled code
 * @param folders folders inside `compiled` to report, including files that no process loaded
 */
export const readCoverage = async (
  written: readonly string[],
  compiled: string,
  folders: readonly string[],
): Promise<FileCoverage[]> => {
  const code = new Map<string, { readonly text: string; readonly ran: Uint8Array }>();
  for (const folder of folders) {
    for (const name of (await readdir(join(compiled, folder), { recursive: true })).sort()) {
      if (!name.endsWith('.js')) continue;
      const text = await readFile(join(compiled, folder, name), 'utf8');
      code.set(join(compiled, folder, name), { text, ran: new Uint8Array(text.length) });
    }
  }
  for (const folder of written) {
    for (const name of await readdir(folder)) {
      for (const script of scriptsOf(await readFile(join(folder, name), 'utf8'))) {
        const known = script.url.startsWith('file:') && code.get(fileURLToPath(script.url));
        if (known) mark(known.ran, script);
      }
    }
  }
  const files: FileCoverage[] = [];
  for (const [path, { text, ran }] of code) {
    const map = new SourceMap(JSON.parse(await readFile(`${path}.map`, 'utf8')));
    files.push(byLine(relative(compiled, path).replace(/\.js$/, '.ts'), text, map, ran));
  }
  return files.filter(({ lines }) => lines > 0);
};
