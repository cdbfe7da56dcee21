/** Reads the files of a page from disk. Their names are the paths that the browser requests, and links are relative. */
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

/**
 * Files by their name relative to the page's address, such as `pages/shared/dom.js`. Names mirror the paths in
 * `plugins/`.
 */
export type PageFiles = ReadonlyMap<string, PageFile>;

/** The folder with the shared files. Its layout is part of every page: `../../pages/shared/dom.js`. */
const SHARED = join(packageRoot, 'plugins', 'pages');

/** Returns the source folder for a folder in `dist/`, because browser code is not compiled into `dist/`. */
const sourceFolder = (folder: URL): string => {
  const path = fileURLToPath(folder);
  return existsSync(path) ? path : path.replace(/(.*[\\/])dist[\\/]/, '$1');
};

/** Comments that start a line in scripts and styles. Such comments are a third of the bytes. */
const COMMENTS = /^[ \t]*\/\*(?:(?!\*\/)[\s\S])*\*\/[ \t]*$/gm;

const readFile = (path: string): PageFile => {
  const bytes = readFileSync(path);
  const hasComments = /^\.(js|css)$/.test(extname(path));
  return {
    // Lines keep their numbers, because error messages contain them.
    bytes: hasComments
      ? Buffer.from(bytes.toString().replace(COMMENTS, (comment) => comment.replace(/[^\n]+/g, '')))
      : bytes,
    modified: statSync(path).mtime,
    type: TYPES[extname(path)]!,
  };
};

/** Reads a file of this folder. @param path relative to the folder: `shared/tokens.css` */
export const readSharedFile = (path: string): PageFile => readFile(join(SHARED, path));

const filesIn = (folder: string, name: string): [string, PageFile][] =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((path) => extname(path) in TYPES)
    .map((path) => [posix.join(name, path.replaceAll('\\', '/')), readFile(join(folder, path))]);

/**
 * Reads the shared files and the files of one folder.
 * @param name the name of the folder, from which the file names are built
 * @param more further files by name, with their paths on disk
 * @throws Error from `node:fs` if a file cannot be read
 */
export const readPageFiles = (folder: URL, name: string, more: Readonly<Record<string, string>> = {}): PageFiles =>
  new Map([
    ...filesIn(SHARED, 'pages'),
    ...filesIn(sourceFolder(folder), name),
    ...Object.entries(more).map(([file, path]): [string, PageFile] => [file, readFile(path)]),
  ]);

/** Resolves a relative path in the file `from` to the name of a file. */
export const resolveName = (from: string, path: string): string => posix.join(posix.dirname(from), path);

/**
 * Matches `import ... from './x.js'` (even across lines), `export ... from` and `import './x.js'`, but not comments.
 */
const IMPORT = /^(?:import|export|\}) ?[^'\n]*'(\.[^']+)';$/gm;

/**
 * Returns all modules that a module imports, directly or indirectly, except the module itself.
 * @throws Error if a module imports a file that the page does not have
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
