/** Makes the build that is tested: a copy of the compiled one, with every mutation of the scopes in it. */
import { createHash } from 'node:crypto';
import { cp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { SourceMap } from 'node:module';
import { dirname, join, relative } from 'node:path';
import { packageRoot } from '../core/package-root.js';
import { instrument, type Site } from './instrument.js';
import type { Scope } from './scopes.js';

export interface Mutant {
  readonly id: number;
  readonly scope: string;
  /** Of the sources: `core/limiter/shard.ts`. */
  readonly file: string;
  /** Counted from 1. */
  readonly line: number;
  readonly operator: string;
  /** What was there, shortened to one line. */
  readonly original: string;
  /** The same as long as the file and the mutation are. */
  readonly digest: string;
}

export interface Build {
  readonly folder: string;
  readonly mutants: readonly Mutant[];
  /** The same as long as the code, the tests and the mutants are. */
  readonly digest: string;
  /** Compiled test files of a scope. */
  tests(scope: Scope): Promise<string[]>;
}

const digest = (...parts: readonly string[]): string =>
  createHash('sha256').update(parts.join('\0')).digest('hex').slice(0, 16);

/** Compiled files of folders and of names without their ending. @param ending of those that are wanted */
const filesOf = async (folder: string, names: readonly string[], ending: string): Promise<string[]> => {
  const found = await Promise.all(
    names.map(async (name) => {
      const inside = await readdir(join(folder, name), { recursive: true }).catch(() => undefined);
      return inside === undefined ? [`${name}.js`] : inside.map((file) => join(name, file)).sort();
    }),
  );
  return found.flat().filter((file) => file.endsWith(ending));
};

const lineIn = (source: string, offset: number): { line: number; column: number } => {
  const before = source.slice(0, offset).split('\n');
  return { line: before.length - 1, column: before.at(-1)!.length };
};

const oneLine = (text: string): string => {
  const line = text.replace(/\s+/g, ' ');
  return line.length > 100 ? `${line.slice(0, 99)}…` : line;
};

/** What the built files read beside them: the package's own folders, found from wherever its `package.json` is. */
const addPackage = async (folder: string): Promise<void> => {
  for (const name of ['package.json', 'config', 'dataset', 'node_modules', 'templates', 'bin', 'docs']) {
    await symlink(join(packageRoot, name), join(folder, name));
  }
  for (const name of ['core', 'plugins', 'test']) {
    await cp(join(packageRoot, name), join(folder, name), { recursive: true, filter: (file) => !file.endsWith('.ts') });
  }
};

const digestOf = async (folder: string): Promise<string> => {
  const parts: string[] = [];
  for (const file of (await readdir(folder, { recursive: true })).sort()) {
    if (/\.(?:js|lua)$/.test(file)) parts.push(file, await readFile(join(folder, file), 'utf8'));
  }
  return digest(...parts);
};

/** @param compiled the compiler's output @param folder where the copy goes; what was there is removed */
export const build = async (compiled: string, folder: string, scopes: readonly Scope[]): Promise<Build> => {
  await rm(folder, { recursive: true, force: true });
  await cp(compiled, folder, { recursive: true });
  await addPackage(folder);
  const mutants: Mutant[] = [];
  for (const { name: scope, sources } of scopes) {
    for (const file of await filesOf(folder, sources, '.js')) {
      const path = join(folder, file);
      const source = await readFile(path, 'utf8');
      const map = new SourceMap(JSON.parse(await readFile(`${path}.map`, 'utf8')));
      const switchModule = relative(dirname(path), join(folder, 'mutation/switch.js'));
      const { code, sites } = instrument(source, mutants.length, switchModule);
      await writeFile(path, code);
      const toMutant = ({ operator, text, start, end }: Site, index: number): Mutant => {
        const { line, column } = lineIn(source, start);
        const entry = map.findEntry(line, column);
        return {
          id: mutants.length + index,
          scope,
          file: file.replace(/\.js$/, '.ts'),
          line: 'originalLine' in entry ? entry.originalLine + 1 : 0,
          operator,
          original: oneLine(source.slice(start, end)),
          digest: digest(file, source, String(start), String(end), operator, text),
        };
      };
      mutants.push(...sites.map(toMutant));
    }
  }
  return { folder, mutants, digest: await digestOf(folder), tests: ({ tests }) => filesOf(folder, tests, '.test.js') };
};
