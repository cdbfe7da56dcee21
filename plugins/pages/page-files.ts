/** The files of a page: read from disk, named as the browser requests them, and linked by relative paths. */
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { extname, join, posix } from 'node:path';
import { fileURLToPath } from 'node:url';
import { packageRoot } from '../../core/util/package.js';

const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.json': 'application/json; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.md': 'text/markdown; charset=utf-8',
};

export interface PageFile {
  readonly bytes: Buffer;
  readonly modified: Date;
  readonly type: string;
}

/** By name below the page's address: `pages/shared/dom.js`. Names mirror the paths below `plugins/`. */
export type PageFiles = ReadonlyMap<string, PageFile>;

/** The folder with the shared files. Its layout is part of every page: `../../pages/shared/dom.js`. */
const SHARED = join(packageRoot, 'plugins', 'pages');

/** TypeScript compiles into `dist/`, which has no browser code: the folder next to the source has it. */
const sourceFolder = (folder: URL): string => {
  const path = fileURLToPath(folder);
  return existsSync(path) ? path : path.replace(/(.*[\\/])dist[\\/]/, '$1');
};

const readFile = (path: string): PageFile => ({
  bytes: readFileSync(path),
  modified: statSync(path).mtime,
  type: TYPES[extname(path)]!,
});

const filesIn = (folder: string, name: string): [string, PageFile][] =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((path) => extname(path) in TYPES)
    .map((path) => [posix.join(name, path.replaceAll('\\', '/')), readFile(join(folder, path))]);

/**
 * Reads the shared files and the files of one folder.
 * @param name of the folder, which gives the names of its files
 * @param more further files by name, with their paths on disk
 * @throws Error of `node:fs` for a file that cannot be read
 */
export const readPageFiles = (folder: URL, name: string, more: Readonly<Record<string, string>> = {}): PageFiles =>
  new Map([
    ...filesIn(SHARED, 'pages'),
    ...filesIn(sourceFolder(folder), name),
    ...Object.entries(more).map(([file, path]): [string, PageFile] => [file, readFile(path)]),
  ]);

/** The file that a relative path in another file leads to. */
export const resolveName = (from: string, path: string): string => posix.join(posix.dirname(from), path);

/** `import ... from './x.js'`, also across lines, `export ... from` and `import './x.js'`. Comments do not match. */
const IMPORT = /^(?:import|export|\}) ?[^'\n]*'(\.[^']+)';$/gm;

/**
 * All modules that a module imports, directly or through others, without itself.
 * @throws Error for an import of a file that the page does not have
 */
export const importsOf = (files: PageFiles, entry: string): string[] => {
  const found = new Set([entry]);
  for (const module of found) {
    const file = files.get(module);
    if (!file) throw new Error(`${module} is not a file of the page`);
    for (const [, path = ''] of file.bytes.toString().matchAll(IMPORT)) {
      const name = resolveName(module, path);
      if (!files.has(name)) throw new Error(`${module} imports ${path}, which is not a file of the page`);
      found.add(name);
    }
  }
  found.delete(entry);
  return [...found];
};
