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
 * Maps names to files. A name such as `pages/shared/dom.js` is a path in `plugins/` and relative to the address of the
 * page.
 */
export type PageFiles = ReadonlyMap<string, PageFile>;

/** The scripts of every page import `../../pages/shared/dom.js`, so this folder must keep its name. */
const SHARED = join(packageRoot, 'plugins', 'pages');

/** Browser code is not compiled, so it is not in `dist/`. */
const sourceFolder = (folder: URL): string => {
  const path = fileURLToPath(folder);
  return existsSync(path) ? path : path.replace(/(.*[\\/])dist[\\/]/, '$1');
};

/**
 * Comments make up about a fifth of the scripts and styles, so they are not sent to browsers. Matches block comments on
 * their own lines.
 */
const COMMENTS = /^[ \t]*\/\*(?:(?!\*\/)[\s\S])*\*\/[ \t]*$/gm;

const readFile = (path: string): PageFile => {
  const bytes = readFileSync(path);
  const hasComments = /^\.(js|css)$/.test(extname(path));
  return {
    // Keeps line breaks, so that line numbers in stack traces stay correct.
    bytes: hasComments
      ? Buffer.from(bytes.toString().replace(COMMENTS, (comment) => comment.replace(/[^\n]+/g, '')))
      : bytes,
    modified: statSync(path).mtime,
    type: TYPES[extname(path)]!,
  };
};

/** @param path relative to `plugins/pages`, such as `shared/tokens.css` */
export const readSharedFile = (path: string): PageFile => readFile(join(SHARED, path));

const filesIn = (folder: string, name: string): [string, PageFile][] =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((path) => extname(path) in TYPES)
    .map((path) => [posix.join(name, path.replaceAll('\\', '/')), readFile(join(folder, path))]);

let shared: [string, PageFile][] | undefined;

/**
 * Reads the shared files once per process, and the files of a page.
 * @param name prefix for the names of the page's files
 * @param more paths of additional files, by name
 * @throws Error from `node:fs` if a file cannot be read
 */
export const readPageFiles = (folder: URL, name: string, more: Readonly<Record<string, string>> = {}): PageFiles => {
  shared ??= filesIn(SHARED, 'pages');
  return new Map([
    ...shared,
    ...filesIn(sourceFolder(folder), name),
    ...Object.entries(more).map(([file, path]): [string, PageFile] => [file, readFile(path)]),
  ]);
};

export const resolveName = (from: string, path: string): string => posix.join(posix.dirname(from), path);

/** The last line of an `import` or `export ... from './x.js'` statement. Comments do not match. */
const IMPORT = /^(?:import|export|\}) ?[^'\n]*'(\.[^']+)';$/gm;

/** @throws Error if an imported file is not one of the page's files */
export const importsOf = (files: PageFiles, entry: string): string[] => {
  const found = new Set([entry]);
  for (const module of found) {
    const file = files.get(module);
    if (!file) throw new Error(`${module} is not one of the page's files`);
    for (const [, path = ''] of file.bytes.toString().matchAll(IMPORT)) {
      const name = resolveName(module, path);
      if (!files.has(name)) throw new Error(`${module} imports ${path}, which is not one of the page's files`);
      found.add(name);
    }
  }
  found.delete(entry);
  return [...found];
};
