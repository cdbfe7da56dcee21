/** Checks the permissions of the files that a service trusts: its configuration, mounted secrets and keys. */
import type { LoadedConfig } from '../config/load.js';
import type { Environment } from '../config/overrides.js';
import { maskSecrets } from '../config/secrets.js';
import { loosePermissions } from '../util/loose-permissions.js';
import { isObject } from '../validation/json.js';
import { formatPath, type Path } from '../validation/path.js';
import { type Modules, pathResolver } from './load-modules.js';

/** The paths at which two values of the same shape differ. */
const differences = (value: unknown, other: unknown, path: Path = []): Path[] => {
  if (!isObject(value) || !isObject(other)) return value === other ? [] : [path];
  return Object.entries(value).flatMap(([name, each]) =>
    differences(each, (other as Record<string, unknown>)[name], [...path, Array.isArray(value) ? Number(name) : name]),
  );
};

/** Whether the file contains a secret. Secrets from the environment are not in the file. */
const hasSecret = ({ config, overrides }: LoadedConfig, modules: Modules): boolean => {
  const masked = maskSecrets(config, {
    adapter: modules.adapter.options,
    keys: modules.keyStore.options,
    plugins: modules.registry.plugins.map(({ options }) => options),
  });
  return differences(config, masked)
    .map((place) => formatPath(place))
    .some((path) => !overrides.some((override) => path.startsWith(override.path)));
};

/** @returns a message for each file that other users can read or change, with the command that corrects it */
export const looseFiles = async (
  loaded: LoadedConfig,
  modules: Modules,
  env: Environment = process.env,
): Promise<readonly string[]> => {
  const { config, path, folder, embedded, overrides } = loaded;
  const files: [path: string, isSecret: boolean][] = [];
  if (!embedded) files.push([path, hasSecret(loaded, modules)]);
  for (const { variable } of overrides) {
    // The variable of a module's option may have such a name too. Its value is not a file with a secret.
    const file = variable.endsWith('_FILE') && !variable.includes('__OPTIONS__') ? env[variable] : undefined;
    if (file) files.push([file, true]);
  }
  const { use, options } = config.auth.keys;
  if (use === 'file') files.push([pathResolver(folder)(String(options['path'])), true]);
  const found = await Promise.all(files.map(([file, isSecret]) => loosePermissions(file, isSecret)));
  return [...new Set(found.flat())];
};
