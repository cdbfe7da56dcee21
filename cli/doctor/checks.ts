/** What `doctor` looks at, in the order in which one thing needs another. */
import { pino } from 'pino';
import type { DependencyContainer } from 'tsyringe';
import { createContainer } from '../../app/container.js';
import { loadConfig } from '../../app/load-config.js';
import { loadModules, type Modules } from '../../app/load-modules.js';
import type { LoadedConfig } from '../../core/config/load.js';
import type { Environment } from '../../core/config/overrides.js';
import { OperatorError } from '../../core/errors.js';
import { checkKeys } from './keys.js';
import { checkNode } from './node-version.js';
import { checkPort } from './port.js';
import { checkRedis } from './redis.js';
import { checkDatasetRows, checkStorage } from './storage.js';

/** `skipped`: something that it needs has failed. */
export type State = 'ok' | 'warning' | 'failed' | 'skipped';

export interface Finding {
  readonly check: string;
  readonly state: State;
  readonly message: string;
  /** What to do, a sentence each. */
  readonly advice?: readonly string[];
}

/** What a check of the running parts is given. */
export interface Patient {
  readonly loaded: LoadedConfig;
  readonly modules: Modules;
  readonly container: DependencyContainer;
}

/** Told how many rows have been checked so far. */
export type OnRows = (rows: number) => void;

/** A thrown error as the finding that it is. */
export const failure = (check: string, error: unknown, advice: readonly string[] = []): Finding => {
  const faults = error instanceof OperatorError ? error.faults : [];
  const message = error instanceof Error ? error.message : String(error);
  return {
    check,
    state: 'failed',
    message: faults.length > 0 ? message.split('\n', 1)[0]! : message,
    advice: [...faults, ...advice],
  };
};

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
