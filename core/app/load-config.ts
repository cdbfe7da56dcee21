/** The product's configuration: what its file and its environment variables are called. */
import { join } from 'node:path';
import { configLoader, type LoadedConfig, type LoadOptions } from '../config/load.js';
import type { NamedVariable } from '../config/overrides.js';
import type { LoadedPlugin } from '../registry/register-plugins.js';
import { packageRoot } from '../util/package.js';
import { moduleFaults } from './load-modules.js';

/** Settings that have a variable with a well-known name. */
export const namedVariables: readonly NamedVariable[] = [
  { variable: 'HOST', path: ['server', 'host'] },
  { variable: 'PORT', path: ['server', 'port'] },
  { variable: 'REDIS_URL', path: ['redis', 'url'], secret: true },
  {
    variable: 'MONGODB_URI',
    path: ['adapter', 'options', 'uri'],
    when: { at: ['adapter'], use: 'mongo' },
    secret: true,
  },
  {
    variable: 'MONGODB_URI',
    path: ['auth', 'keys', 'options', 'uri'],
    when: { at: ['auth', 'keys'], use: 'mongo' },
    secret: true,
  },
];

const load = configLoader({
  prefix: 'METRO',
  embedded: join(packageRoot, 'config/default.json'),
  variables: namedVariables,
});

/**
 * @param extra plugins of an embedding program, whose faults are told with those of the configuration
 * @throws OperatorError with all faults, those of modules included
 */
export const loadConfig = (
  options: Omit<LoadOptions, 'moduleFaults'>,
  extra: readonly LoadedPlugin[] = [],
): Promise<LoadedConfig> =>
  load({ ...options, moduleFaults: (draft, folder, overrides) => moduleFaults({ draft, folder, overrides }, extra) });
