/** Opens storage for the commands that publish: it must be able to, and still be there afterwards. */
import { type OpenedStorage, openStorage } from '../core/app/open-stores.js';
import type { StorageAdapter } from '../core/contracts/storage.js';
import { OperatorError } from '../core/errors.js';
import { loadConfig, loadModules } from '../product.js';
import { commandLogger } from './output.js';

type Able = Pick<StorageAdapter, 'publish' | 'versions' | 'audit'>;
const WHAT = { publish: 'cannot publish', versions: 'keeps no versions', audit: 'keeps no audit' } as const;

/** How to get the adapter "json", which has all of the above but versions. */
const SERVES_A_FOLDER =
  '"metro-forecast init api.json --dataset data" writes a configuration that serves the folder "data"';

/**
 * Runs `task` on the opened storage of a config, and closes it.
 * @param capability what the adapter must have; `task` is given it
 * @throws OperatorError naming an adapter that lacks it, or that forgets what is published when the command ends
 */
export const withPublishedStorage = async <C extends keyof Able, T>(
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
      const why = able ? 'forgets everything when this command ends' : WHAT[capability];
      throw new OperatorError(`The adapter "${module.name}" of this configuration ${why}.`, [
        'name another one in "adapter", such as "mongo"',
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

/** What becomes of services that run while another version is made current. */
export const whatServicesDo = ({ module }: OpenedStorage): string =>
  module.capabilities.follows === false ? 'Restart running services to serve it.' : 'Running services follow now.';
