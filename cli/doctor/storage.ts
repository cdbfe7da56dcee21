import { accessSync, constants } from 'node:fs';
import { userInfo } from 'node:os';
import { join } from 'node:path';
import { resolve } from '../../core/app/container.js';
import { pathResolver } from '../../core/app/load-modules.js';
import type { Dataset, Snapshot, StorageAdapter } from '../../core/contracts/storage.js';
import { MANIFEST_FILE } from '../../core/data/manifest.js';
import { checkDataset } from '../../core/data/validate.js';
import { firstLines, StorageError } from '../../core/errors.js';
import { counted } from '../../core/util/counted.js';
import { sqliteAdvice } from '../large-dataset.js';
import { type CheckContext, type Finding, failed, failure, type OnRows, ok, warning } from './finding.js';

const MAX_ERRORS = 10;

interface StorageFinding {
  readonly finding: Finding;
  readonly readable: boolean;
  close(): Promise<void>;
}

const directoryOf = ({ loaded: { config, folder } }: CheckContext): string | undefined => {
  const { path } = config.adapter.options;
  return typeof path === 'string' ? pathResolver(folder)(path) : undefined;
};

const accessError = (path: string): string | undefined => {
  try {
    accessSync(path, constants.R_OK);
    return undefined;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code;
  }
};

const openingFailure = (error: unknown, service: CheckContext): Finding => {
  const { options } = service.loaded.config.adapter;
  const directory = directoryOf(service);
  const isFile = service.loaded.config.adapter.use === 'sqlite';
  const access = directory === undefined ? undefined : accessError(isFile ? directory : join(directory, MANIFEST_FILE));
  if (access === 'EACCES' || (error as NodeJS.ErrnoException).code === 'EACCES') {
    const { username } = userInfo();
    const advice = `Let the user "${username}" read ${directory} and the files in it: check the owner and the mode of each file, and of the folders that contain it.`;
    return failure('storage', error, [advice]);
  }
  if (directory !== undefined && !isFile && access === 'ENOENT') {
    const fill = service.command('import', 'SOURCE...', '--to', directory);
    const advice = `There is no dataset in ${directory}. Check adapter.options.path in the configuration, or create one: ${fill} or ${service.command('publish', 'DIR')}`;
    return failure('storage', error, [advice]);
  }
  if (directory !== undefined && isFile && access === 'ENOENT') {
    return failure('storage', error, [`To create it: ${service.command('publish', 'DIR')}`]);
  }
  if (!(error instanceof StorageError) || error.code !== 'invalid_dataset') {
    return failure('storage', error, 'uri' in options ? ['Check adapter.options.uri in the configuration.'] : []);
  }
  const [heading = '', ...errors] = error.message.split('\n').map((line) => line.replace(/^ *- /, ''));
  const all = directory && errors.length > 0 ? [`To list all errors: ${service.command('validate', directory)}`] : [];
  const repair = `To replace the damaged dataset: ${service.command('publish', 'DIR')}`;
  const advice = [...firstLines(errors, MAX_ERRORS), repair, ...all];
  return failed('storage', heading, ...advice);
};

/** The caller must close the adapter. */
export const checkStorage = async (service: CheckContext): Promise<StorageFinding> => {
  const { container, loaded, command } = service;
  const { use } = loaded.config.adapter;
  let adapter: StorageAdapter | undefined;
  const close = async () => void (await adapter?.close());
  try {
    adapter = resolve(container, 'adapter');
    await adapter.open();
    await adapter.ping();
  } catch (error) {
    return { finding: openingFailure(error, service), readable: false, close };
  }
  try {
    const snapshot = adapter.snapshot();
    const { version, publishedAt, manifest } = snapshot;
    snapshot.release();
    const message = `${use} serves version ${version}, vintage ${manifest.vintage}, published ${publishedAt.toISOString()}`;
    const finding = ok('storage', manifest.synthetic ? `${message}; its data is synthetic` : message);
    return { finding, readable: true, close };
  } catch (error) {
    // An error without a cause means that nothing has been published yet.
    const advice = (error as Error).cause ? [] : [command('publish', 'DIR')];
    return { finding: failure('storage', error, advice), readable: false, close };
  }
};

export async function* checkIntegrity(
  { container }: CheckContext,
  readable: boolean,
  full: boolean,
): AsyncGenerator<Finding> {
  const adapter = readable ? resolve(container, 'adapter') : undefined;
  if (!adapter?.checkIntegrity) return;
  try {
    const errors = await adapter.checkIntegrity(full);
    yield errors.length === 0
      ? ok('integrity', full ? 'the file and its indexes are intact' : 'the file is intact')
      : failed(
          'integrity',
          `the file is damaged; errors: ${errors.length}`,
          ...firstLines(errors, MAX_ERRORS),
          'Restore the file from a backup, or publish into a new one.',
        );
  } catch (error) {
    yield failure('integrity', error);
  }
}

const datasetOf = (snapshot: Snapshot, { modules }: CheckContext): Dataset => ({
  manifest: snapshot.manifest,
  read: (name) => snapshot.find(name, { order: modules.registry.collections.get(name)!.key }),
});

export const checkDatasetRows = async (service: CheckContext, onRows: OnRows): Promise<Finding> => {
  const { collections } = service.modules.registry;
  const rows = new Map<string, number>();
  const total = () => [...rows.values()].reduce((sum, n) => sum + n, 0);
  let snapshot: Snapshot | undefined;
  try {
    snapshot = resolve(service.container, 'adapter').snapshot();
    const errors = await checkDataset(datasetOf(snapshot, service), collections, {
      maxErrors: MAX_ERRORS,
      onProgress(progress) {
        rows.set(progress.collection, progress.rows);
        onRows(total());
      },
    });
    const message = `${counted(collections.size, 'collection')}, ${counted(total(), 'row')}`;
    const advised = service.loaded.config.adapter.use === 'json' ? sqliteAdvice(total()) : undefined;
    if (errors.total === 0) return advised ? warning('dataset', message, advised) : ok('dataset', message);
    const advice = `Publish a valid dataset: ${service.command('validate', 'DIR')}`;
    return failed('dataset', `${message}; errors: ${errors.total}`, ...errors.lines(), advice);
  } catch (error) {
    return failure('dataset', error);
  } finally {
    snapshot?.release();
  }
};
