/** `metro-forecast publish`: makes a dataset directory the current snapshot of the configured storage. */
import { existsSync, realpathSync } from 'node:fs';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import type { Command } from 'commander';
import type { OpenedStorage } from '../app/open-stores.js';
import type { Manifest } from '../core/contracts/dataset.js';
import type { StorageAdapter } from '../core/contracts/storage.js';
import { openDirectory } from '../core/dataset/directory.js';
import type { DirectoryManifest } from '../core/dataset/manifest.js';
import { checkDataset } from '../core/dataset/validate.js';
import { OperatorError, StorageError } from '../core/errors.js';
import { packageRoot } from '../core/files/package.js';
import { type CommonOptions, commandLine } from './options.js';
import { count, note, print, printJson } from './output.js';
import { createProgress } from './progress.js';
import { whatServicesDo, withPublishedStorage } from './published-storage.js';

const MOST_FAULTS = 20;

/** Aborted by Ctrl-C, so that what has been written is removed before the process ends. */
const interruption = (): { signal: AbortSignal; end(): void } => {
  const controller = new AbortController();
  const abort = () => controller.abort();
  process.once('SIGINT', abort).once('SIGTERM', abort);
  return { signal: controller.signal, end: () => void process.off('SIGINT', abort).off('SIGTERM', abort) };
};

const sumsOf = (manifest: Manifest): unknown =>
  Object.entries((manifest as Partial<DirectoryManifest>).collections ?? {})
    .map(([name, { sha256 }]) => [name, sha256])
    .sort();

/**
 * Whether the current version is this dataset to the last row, which its name and the checksums of its files tell.
 */
const isCurrent = (adapter: StorageAdapter, manifest: DirectoryManifest): boolean => {
  if (Object.values(manifest.collections).some(({ sha256 }) => sha256 === undefined)) return false;
  try {
    const snapshot = adapter.snapshot();
    const current = snapshot.manifest;
    snapshot.release();
    return current.version === manifest.version && isDeepStrictEqual(sumsOf(current), sumsOf(manifest));
  } catch {
    // Nothing has been published yet, or it cannot be read, of which `publish` will fail with the reason.
    return false;
  }
};

/** The directory of the embedded sample belongs to the package: other datasets are published elsewhere. */
const refuseSample = ({ directory }: OpenedStorage): void => {
  if (directory === undefined) return;
  const real = (path: string) => (existsSync(path) ? realpathSync(path) : path);
  if (real(directory) !== real(join(packageRoot, 'metro/dataset'))) return;
  throw new OperatorError(
    `This configuration serves the sample of the package, ${directory}, which is not to be overwritten.`,
    ['metro-forecast init api.json --dataset data writes a configuration for a directory of your own'],
  );
};

/** The operator has to activate a version that was published before: perhaps somebody went back from it on purpose. */
const conflictOf = async (
  error: StorageError,
  { versions }: StorageAdapter,
  version: string,
  config: string | undefined,
): Promise<Error> => {
  const list = (await versions?.list()) ?? [];
  const current = list.find((each) => each.current)?.version;
  if (current === version || !list.some((each) => each.version === version)) return error;
  return new OperatorError(
    `Version ${version} has been published before, and ${current} is current.`,
    [
      `to make it current again: ${commandLine(config, 'snapshots', 'activate', version)}`,
      'other content needs another version',
    ],
    { cause: error },
  );
};

const publish = async (directory: string, options: CommonOptions): Promise<void> => {
  const { dataset, manifest } = await openDirectory(directory);
  const rows: Record<string, number> = {};
  const services = await withPublishedStorage(options.config, 'publish', async (publishTo, storage) => {
    refuseSample(storage);
    const progress = createProgress();
    const { signal, end } = interruption();
    try {
      const faults = await checkDataset(dataset, storage.collections, {
        maxFaults: MOST_FAULTS,
        onProgress: ({ collection, rows: done, total }) => progress.update(`checking ${collection}`, done, total),
      });
      progress.finish();
      if (faults.total > 0) {
        throw new OperatorError(`${directory} is not published, since it is not valid:`, faults.lines());
      }
      if (isCurrent(storage.adapter, manifest)) return undefined;
      await publishTo(dataset, {
        signal,
        onWait: note,
        onProgress({ collection, written }) {
          rows[collection] = written;
          progress.update(`publishing ${collection}`, written, dataset.fileOf(collection)?.rows);
        },
      }).catch(async (error: unknown) => {
        const conflict = error instanceof StorageError && error.code === 'conflict';
        throw conflict ? await conflictOf(error, storage.adapter, manifest.version, options.config) : error;
      });
    } finally {
      progress.finish();
      end();
    }
    return whatServicesDo(storage);
  });
  const { version } = manifest;
  if (options.json) return printJson({ version, rows, changed: services !== undefined });
  if (services === undefined)
    return print(`Version ${version} is current already, to the last row: nothing has changed.`);
  const total = Object.values(rows).reduce((sum, n) => sum + n, 0);
  print(`Version ${version} is published: ${count.format(total)} rows. ${services}`);
};

export const register = (program: Command): void => {
  program
    .command('publish')
    .description('check a dataset directory and make it the current snapshot of the configured storage')
    .argument('<dir>', 'the dataset directory')
    .option('--json', 'print the result as JSON for machines')
    .addHelpText(
      'after',
      `
A version that is current already, to the last row, is a success that changes nothing. Readers see nothing of a new one before all of it is written and verified. A publication that fails or is
interrupted changes nothing.

Examples:
  $ metro-forecast --config replicas.json publish data
  $ MONGODB_URI=mongodb://db.internal/forecast metro-forecast --config replicas.json publish data --json

Exit codes: 0 published, 1 failure (nothing changed), 2 wrong usage.`,
    )
    .action((directory: string, _: unknown, command: Command) =>
      publish(directory, command.optsWithGlobals<CommonOptions>()),
    );
};
