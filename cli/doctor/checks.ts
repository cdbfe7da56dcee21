/** What `doctor` looks at, in the order in which one thing needs another. */
import { pino } from 'pino';
import { createContainer } from '../../app/container.js';
import { loadConfig } from '../../app/load-config.js';
import { loadModules } from '../../app/load-modules.js';
import type { Environment } from '../../core/config/overrides.js';
import { type Finding, failure, type OnRows, type Patient } from './finding.js';
import { checkKeys } from './keys.js';
import { checkNode } from './node-version.js';
import { checkPort } from './port.js';
import { checkRedis } from './redis.js';
import { checkDatasetRows, checkStorage } from './storage.js';

/** @param path of the configuration, as given on the command line */
export async function* findings(path: string | undefined, env: Environment, onRows: OnRows): AsyncGenerator<Finding> {
  yield checkNode(process.versions.node);
  let patient: Patient;
  try {
    const loaded = await loadConfig({ path, env });
    const modules = await loadModules(loaded);
    const logger = pino({ level: 'silent' });
    patient = { loaded, modules, container: createContainer({ config: loaded, modules }, { logger }) };
    const { config } = loaded;
    const parts = `adapter "${config.adapter.use}", plugins ${config.plugins.map(({ use }) => use).join(', ')}`;
    yield { check: 'configuration', state: 'ok', message: `${loaded.path}: ${parts}` };
  } catch (error) {
    yield failure('configuration', error, ['metro-forecast init FILE writes one to begin with']);
    for (const check of ['storage', 'dataset', 'keys', 'redis', 'port']) {
      yield { check, state: 'skipped', message: 'needs a configuration that can be used' };
    }
    return;
  }
  const storage = await checkStorage(patient);
  try {
    yield storage.finding;
    yield storage.readable
      ? await checkDatasetRows(patient, onRows)
      : { check: 'dataset', state: 'skipped', message: 'needs storage that can be read' };
  } finally {
    await storage.close();
  }
  yield await checkKeys(patient);
  yield await checkRedis(patient);
  yield await checkPort(patient);
}
