import { stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { LoadedConfig } from '../config/load.js';
import type { Environment } from '../config/overrides.js';
import { shellQuoted } from '../util/shell-quote.js';
import { linkTarget } from '../util/write-atomic.js';
import { differences, formatPath, isWithin } from '../validation/path.js';
import { type Modules, maskedConfig, pathResolver } from './load-modules.js';

/** Returns true if the configuration file itself contains a secret. Secrets from environment variables do not count. */
const hasSecret = (loaded: LoadedConfig, modules: Modules): boolean =>
  differences(loaded.config, maskedConfig(loaded, modules))
    .map((place) => formatPath(place))
    .some((path) => !loaded.overrides.some((override) => isWithin(path, override.path)));

export const permissionWarnings = async (
  loaded: LoadedConfig,
  modules: Modules,
  env: Environment = process.env,
): Promise<readonly string[]> => {
  const { config, path, folder, embedded, overrides } = loaded;
  const files: [path: string, isSecret: boolean][] = [];
  if (!embedded) files.push([path, hasSecret(loaded, modules)]);
  for (const { variable } of overrides) {
    // A variable of a module option is not the path of a secret, even if the name of the option ends in `_FILE`.
    const file = variable.endsWith('_FILE') && !variable.includes('__OPTIONS__') ? env[variable] : undefined;
    if (file) files.push([file, true]);
  }
  const { use, options } = config.auth.keys;
  if (use === 'file' || use === 'sqlite') files.push([pathResolver(folder)(String(options['path'])), true]);
  const found = await Promise.all(files.map(([file, isSecret]) => loosePermissions(file, isSecret)));
  return [...new Set(found.flat())];
};

const GROUP_OR_OTHERS_WRITE = 0o022;
const OTHERS_READ = 0o004;
const OTHERS_WRITE = 0o002;
/** The sticky bit of a folder: only the owner of a file in the folder can replace the file. */
const STICKY = 0o1000;

const octal = (mode: number): string => `mode ${(mode & 0o7777).toString(8).padStart(4, '0')}`;

const loosePermissions = async (path: string, isSecret: boolean): Promise<readonly string[]> => {
  if (process.platform === 'win32') return [];
  const file = await linkTarget(path).catch(() => path);
  const found = await stat(file).catch(() => undefined);
  // Devices such as /dev/null must stay accessible to all users. Folders and pipes are reported when they are read.
  if (!found?.isFile()) return [];
  const sentences: string[] = [];
  const isWritable = (found.mode & GROUP_OR_OTHERS_WRITE) !== 0;
  const isReadable = isSecret && (found.mode & OTHERS_READ) !== 0;
  if (isWritable || isReadable) {
    const what = [...(isReadable ? ['read'] : []), ...(isWritable ? ['change'] : [])].join(' and ');
    const change = isSecret ? 'g-w,o-rwx' : 'g-w,o-w';
    sentences.push(`Other users can ${what} ${path} (${octal(found.mode)}): run chmod ${change} ${shellQuoted(file)}`);
  }
  const folder = dirname(file);
  const { mode } = await stat(folder);
  if ((mode & OTHERS_WRITE) !== 0 && (mode & STICKY) === 0) {
    sentences.push(
      `Other users can replace ${path}, because everyone can write to its folder: run chmod o-w ${shellQuoted(folder)}`,
    );
  }
  return sentences;
};
