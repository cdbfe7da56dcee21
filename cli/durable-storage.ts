import { existsSync, realpathSync } from 'node:fs';
import { join } from 'node:path';
import { type OpenedStorage, openStorage } from '../core/app/open-stores.js';
import type { StorageAdapter } from '../core/contracts/storage.js';
import { OperatorError } from '../core/errors.js';
import { packageRoot } from '../core/util/package.js';
import { loadConfig, loadModules } from '../product.js';
import { commandLogger } from './output.js';

type Able = Pick<StorageAdapter, 'publish' | 'versions' | 'audit'>;
const WHAT = { publish: 'cannot publish', versions: 'stores no old versions', audit: 'has no audit log' } as const;

const SERVES_A_FOLDER =
  '"metro-forecast init api.json --dataset data" writes a configuration that serves the folder "data"';

/** @throws OperatorError if the adapter lacks the capability, or does not store data durably */
export const withDurableStorage = async <C extends keyof Able, T>(
  config: string | undefined,
  capability: C,
  task: (able: NonNullable<StorageAdapter[C]>, storage: OpenedStorage) => Promise<T>,
): Promise<T> => {
  const loaded = await loadConfig({ path: config });
  const storage = await openStorage({ config: loaded, modules: await loadModules(loaded) }, commandLogger());
  try {
    const { adapter, module } = storage;
    const able = adapter[capability];
    if (!able || module.capabilities.durable === false) {
      const why = able ? 'loses its data when this command exits' : WHAT[capability];
      throw new OperatorError(`The adapter "${module.name}" of this configuration ${why}.`, [
        'use another adapter, such as "sqlite" or "mongo"',
        ...(capability === 'versions' ? [] : [SERVES_A_FOLDER]),
      ]);
    }
    return await task(
      (typeof able === 'function' ? able.bind(adapter) : able) as NonNullable<StorageAdapter[C]>,
      storage,
    );
  } finally {
    await storage.close();
  }
};

export const whatServicesDo = ({ module }: OpenedStorage): string =>
  module.capabilities.follows === false
    ? 'Restart running services to serve it.'
    : 'Running services switch to it now.';

/** The sample dataset is part of the package and must not be changed. */
export const refuseSample = ({ directory }: OpenedStorage): void => {
  if (directory === undefined) return;
  const real = (path: string) => (existsSync(path) ? realpathSync(path) : path);
  if (real(directory) !== real(join(packageRoot, 'plugins/metro/dataset'))) return;
  throw new OperatorError(
    `This configuration serves the package's sample, ${directory}, which must not be overwritten.`,
    [
      '"metro-forecast init api.json --dataset data" writes a configuration for a folder of your own, "data"',
      '"metro-forecast --config api.json publish DIR" then publishes into it',
    ],
  );
};
