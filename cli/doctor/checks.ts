import { existsSync } from 'node:fs';
import { pino } from 'pino';
import { createContainer } from '../../core/app/container.js';
import { permissionWarnings } from '../../core/app/file-permissions.js';
import type { Environment } from '../../core/config/overrides.js';
import { engines } from '../../core/util/package.js';
import { loadConfig, loadModules } from '../../product.js';
import { commandLine } from '../options.js';
import { checkDisks } from './disk.js';
import { type CheckContext, type Finding, failed, failure, type OnRows, ok, warning } from './finding.js';
import { checkKeys } from './keys.js';
import { checkPorts } from './port.js';
import { checkRedis } from './redis.js';
import { checkDatasetRows, checkIntegrity, checkStorage } from './storage.js';

export const checkNode = (version: string): Finding => {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  const [leastMajor = 0, leastMinor = 0] = engines.node.replace(/^>=/, '').split('.').map(Number);
  const supported = major > leastMajor || (major === leastMajor && minor >= leastMinor);
  const message = `version ${version}; ${engines.node} is required`;
  return supported ? ok('node', message) : failed('node', message, 'Install a current LTS release of Node.js.');
};

/** Checks that other users can neither change the service's files nor read its secrets. */
const checkPermissions = async ({ loaded, modules }: CheckContext, env: Environment): Promise<Finding> => {
  const sentences = await permissionWarnings(loaded, modules, env);
  if (sentences.length === 0)
    return ok('permissions', 'other users cannot change the configuration or read its secrets');
  return warning('permissions', 'other users can read or change files that the service trusts', ...sentences);
};

interface DoctorOptions {
  readonly onRows: OnRows;
  readonly integrity: boolean;
}

export async function* findings(
  path: string | undefined,
  env: Environment,
  { onRows, integrity }: DoctorOptions,
): AsyncGenerator<Finding> {
  // METRO_CONFIG might be set for this command only, so suggested commands contain the path of the file.
  const file = path ?? (env['METRO_CONFIG'] || undefined);
  const command = (...words: string[]) => commandLine(file, ...words);
  yield checkNode(process.versions.node);
  let service: CheckContext;
  try {
    const loaded = await loadConfig({ path, env });
    const modules = await loadModules(loaded);
    const logger = pino({ level: 'silent' });
    const container = createContainer({ config: loaded, modules }, { logger });
    service = { loaded, modules, container, command };
    const { config } = loaded;
    const parts = `adapter "${config.adapter.use}", plugins ${config.plugins.map(({ use }) => use).join(', ')}`;
    yield ok('configuration', `${loaded.path}: ${parts}`);
  } catch (error) {
    const isMissing = file !== undefined && !existsSync(file);
    yield failure('configuration', error, isMissing ? ['To write a new configuration: metro-forecast init FILE'] : []);
    for (const check of ['permissions', 'storage', 'dataset', 'keys', 'redis', 'port']) {
      yield { check, state: 'skipped', message: 'needs a valid configuration' };
    }
    return;
  }
  yield await checkPermissions(service, env);
  yield* checkDisks(service);
  const storage = await checkStorage(service);
  try {
    yield storage.finding;
    yield* checkIntegrity(service, storage.readable, integrity);
    yield storage.readable
      ? await checkDatasetRows(service, onRows)
      : { check: 'dataset', state: 'skipped', message: 'needs readable storage' };
  } finally {
    await storage.close();
  }
  yield await checkKeys(service);
  yield await checkRedis(service);
  yield* checkPorts(service);
}
