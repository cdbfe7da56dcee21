import { existsSync, readFileSync, statSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { peerDependencies } from '../util/package.js';
import { isObject } from '../validation/json.js';
import { nearest } from '../validation/nearest.js';
import { type Members, memberErrors } from './check-members.js';

export type ModuleKind = 'adapter' | 'key-store' | 'plugin';

const MEMBERS: Readonly<Record<ModuleKind, Members>> = {
  adapter: {
    name: 'string',
    version: 'string',
    capabilities: 'object',
    options: 'object',
    check: 'function?',
    create: 'function',
  },
  'key-store': { name: 'string', options: 'object', check: 'function?', create: 'function' },
  plugin: {
    name: 'string',
    version: 'string',
    description: 'string',
    routes: 'function?',
    needs: 'list?',
    options: 'object?',
    collections: 'list|function?',
    info: 'object?',
    components: 'list?',
    formats: 'function?',
    mounts: 'function?',
    middleware: 'function?',
    serviceMiddleware: 'function?',
    observer: 'function?',
    identity: 'function?',
    securityScheme: 'object?',
    open: 'function?',
    close: 'function?',
    onError: 'function?',
  },
};

export type Builtins<T> = Readonly<Record<string, () => Promise<{ default: T }>>>;

/** @param use a built-in name, a path that starts with `./` or `../`, an absolute path, or a package name */
export const loadModule = async <T>(
  kind: ModuleKind,
  use: string,
  folder: string,
  builtins: Builtins<T>,
): Promise<T> => {
  let loaded: { default?: unknown };
  const builtin = Object.hasOwn(builtins, use) ? builtins[use] : undefined;
  try {
    loaded = builtin ? await builtin() : await import(pathToFileURL(locate(use, folder, Object.keys(builtins))).href);
  } catch (error) {
    throw new Error(`${kind} "${use}" cannot be loaded: ${importErrorReason(error as Error)}`, { cause: error });
  }
  checkModule(kind, use, loaded.default);
  return loaded.default as T;
};

export const checkModule = (kind: ModuleKind, use: string, module: unknown): void => {
  const errors = isObject(module)
    ? [
        ...(module['kind'] === kind ? [] : [`"kind" must be "${kind}"`]),
        ...memberErrors(module, { kind: 'string?', ...MEMBERS[kind] }),
      ]
    : ['its default export is not an object'];
  if (errors.length > 0) throw new Error(`${kind} "${use}" is not valid: ${errors.join('; ')}`);
};

export const importErrorReason = (error: Error): string => {
  const { name, message } = error;
  const { code } = error as NodeJS.ErrnoException;
  if (code === 'ERR_UNKNOWN_FILE_EXTENSION' && /\.[cm]?tsx?["']?(?: |$)/.test(message)) {
    return 'this version of Node does not run TypeScript; compile the file and name the .js file, or use Node 22.18 or later';
  }
  if (code?.startsWith('ERR_UNSUPPORTED_')) return `${message}; compile the file and name the .js file`;
  if (name === 'SyntaxError' && /import statement outside a module|Unexpected token 'export'/.test(message)) {
    return `${message}; name the file .mjs, or set "type": "module" in its package.json`;
  }
  if (code !== 'ERR_MODULE_NOT_FOUND') return message;
  const missing = /^Cannot find package '([^']+)'/.exec(message)?.[1] ?? '';
  if (!Object.hasOwn(peerDependencies, missing)) return message;
  // Suggests all peer dependencies of the same scope, because they are installed together.
  const [scope] = missing.split('/');
  const names = Object.keys(peerDependencies).filter((each) => each === missing || each.startsWith(`${scope}/`));
  return `an optional package is not installed: npm install ${names.map((each) => `"${each}@${peerDependencies[each]}"`).join(' ')}`;
};

const locate = (use: string, folder: string, builtins: readonly string[]): string => {
  if (/^\.{0,2}\//.test(use)) {
    const path = resolve(folder, use);
    if (!existsSync(path)) throw new Error(`there is no file ${path}`);
    if (statSync(path).isDirectory()) throw new Error(`${path} is a folder; name a file in it, such as index.js`);
    return path;
  }
  const found = resolvePackage(use, folder);
  if (found) return found;
  const guess = nearest(use, builtins);
  throw new Error(
    `it is neither a built-in (${builtins.join(', ')}) nor an installed package${guess ? `; did you mean "${guess}"?` : ''}`,
  );
};

/** `createRequire` does not find a package that only exports `import`, so `node_modules` is searched too. */
const resolvePackage = (name: string, folder: string): string | undefined => {
  try {
    return createRequire(join(folder, 'config.json')).resolve(name);
  } catch {
    for (let at = folder; ; at = dirname(at)) {
      const root = join(at, 'node_modules', name);
      const manifest = join(root, 'package.json');
      if (existsSync(manifest)) {
        const entry = importEntry(JSON.parse(readFileSync(manifest, 'utf8')));
        return entry && join(root, entry);
      }
      if (dirname(at) === at) return undefined;
    }
  }
};

const importEntry = ({ exports, main }: { exports?: unknown; main?: string }): string | undefined => {
  let target = exports;
  while (typeof target === 'object' && target !== null) {
    const conditions = target as Record<string, unknown>;
    target = conditions['.'] ?? conditions['import'] ?? conditions['node'] ?? conditions['default'];
  }
  return typeof target === 'string' ? target : main;
};
