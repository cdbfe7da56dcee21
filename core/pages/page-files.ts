import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { extname, join, posix } from 'node:path';
import { fileURLToPath } from 'node:url';
import { packageRoot } from '../util/package.js';

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
 * Files by name, such as `core/pages/shared/dom.js`. The name is both the path in this package and the path below the
 * address of the page.
 */
export type PageFiles = ReadonlyMap<string, PageFile>;

/** The scripts of pages in other packages import from `core/pages/shared`, so the folder cannot be renamed. */
const SHARED = join(packageRoot, 'core', 'pages');

/** Converts a folder in `dist/` to its source folder, because browser code is not compiled. */
const sourceFolder = (folder: URL): string => {
  const path = fileURLToPath(folder);
  return existsSync(path) ? path : path.replace(/(.*[\\/])dist[\\/]/, '$1');
};

/** Browsers get scripts and styles without comments, which saves bandwidth. */
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

/** @param path relative to `core/pages`, such as `shared/tokens.css` */
export const readSharedFile = (path: string): PageFile => readFile(join(SHARED, path));

const filesIn = (folder: string, name: string): [string, PageFile][] =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((path) => extname(path) in TYPES)
    .map((path) => [posix.join(name, path.replaceAll('\\', '/')), readFile(join(folder, path))]);

let shared: [string, PageFile][] | undefined;

/**
 * @param name prefix of the names of the page's files
 * @param more paths of additional files, by name
 * @throws Error from `node:fs` if a file cannot be read
 */
export const readPageFiles = (folder: URL, name: string, more: Readonly<Record<string, string>> = {}): PageFiles => {
  shared ??= filesIn(SHARED, 'core/pages');
  return new Map([
    ...shared,
    ...filesIn(sourceFolder(folder), name),
    ...Object.entries(more).map(([file, path]): [string, PageFile] => [file, readFile(path)]),
  ]);
};

export const resolveName = (from: string, path: string): string => posix.join(posix.dirname(from), path);

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
