import { join } from 'node:path';
import type { Command } from 'commander';
import type { OpenedStorage } from '../../core/app/open-stores.js';
import type { Dataset, Snapshot, StorageAdapter } from '../../core/contracts/storage.js';
import { differingCollection } from '../../core/data/differing-collection.js';
import { type OpenedDirectory, openDirectory } from '../../core/data/directory.js';
import { isDamagedManifest, MANIFEST_FILE } from '../../core/data/manifest.js';
import { checkDataset } from '../../core/data/validate.js';
import { OperatorError, StorageError } from '../../core/errors.js';
import { counted } from '../../core/util/counted.js';
import { refuseSample, whatServicesDo, withDurableStorage } from '../durable-storage.js';
import { interruptible } from '../interruptible.js';
import { type CommonOptions, commandLine } from '../options.js';
import { note, print, printJson } from '../output.js';
import { withProgress } from '../progress.js';

const MAX_ERRORS = 20;

type FormatCommand = (...words: readonly string[]) => string;

const openSource = async (directory: string, command: FormatCommand): Promise<OpenedDirectory> => {
  try {
    return await openDirectory(directory);
  } catch (error) {
    if (!(error instanceof StorageError)) throw error;
    const isMissing = (error.cause as NodeJS.ErrnoException | undefined)?.code === 'ENOENT';
    if (!isMissing && !isDamagedManifest(error)) throw error;
    const to = ['--to', isMissing ? directory : 'NEW-DIR'];
    const hints = [
      `"${command('import-table', 'FILE', ...to)}" creates a dataset from a table`,
      `"${command('import', 'SOURCE...', ...to)}" creates a dataset of house prices`,
      'a dataset of your own is described in docs/reference/dataset-format.md',
    ];
    throw new OperatorError(error.message, hints, { cause: error });
  }
};

/** `differs` is the first collection whose rows differ, or undefined if all rows are equal. */
type Comparison = { readonly differs: string | undefined };

/** Resolves with undefined if the version cannot be read, or if `open` resolves with a different version. */
const compare = async (
  dataset: Dataset,
  version: string,
  collections: OpenedStorage['collections'],
  open: () => Promise<Snapshot | undefined> | Snapshot,
): Promise<Comparison | undefined> => {
  let snapshot: Snapshot | undefined;
  try {
    snapshot = await open();
    if (snapshot?.version !== version) return undefined;
    return { differs: await differingCollection(dataset, snapshot, collections) };
  } catch (error) {
    // The published version is missing or damaged. Publishing repairs or reports it.
    if (error instanceof StorageError) return undefined;
    throw error;
  } finally {
    snapshot?.release();
  }
};

const servedVersion = (adapter: StorageAdapter): string | undefined => {
  try {
    const snapshot = adapter.snapshot();
    snapshot.release();
    return snapshot.version;
  } catch (error) {
    if (error instanceof StorageError) return undefined;
    throw error;
  }
};

const isCodeOf = (error: unknown, code: StorageError['code']): error is StorageError =>
  error instanceof StorageError && error.code === code;

/**
 * Returns an error with advice. An earlier version with the same rows is not activated automatically, because an
 * operator might have rolled it back on purpose.
 */
const explainConflict = async (
  error: StorageError,
  { adapter, collections }: OpenedStorage,
  { dataset, manifest, path }: OpenedDirectory,
  command: FormatCommand,
): Promise<Error> => {
  const { version } = manifest;
  const list = (await adapter.versions?.list()) ?? [];
  const current = list.find((each) => each.current)?.version;
  const listed = list.find((each) => each.version === version);
  const published = (await adapter.audit?.list())?.some((each) => each.version === version) ?? false;
  // The store does not have this version, so another publisher caused the conflict.
  if (!listed && !published && servedVersion(adapter) !== version) return error;
  if (listed && !listed.current) {
    const compared = await compare(
      dataset,
      version,
      collections,
      async () => await adapter.versions?.asOf(listed.publishedAt),
    );
    if (compared && compared.differs === undefined) {
      return new OperatorError(
        `Version ${version} has already been published, and ${current} is current.`,
        [`"${command('snapshots', 'activate', version)}" makes it current again`],
        { cause: error },
      );
    }
  }
  return new OperatorError(
    `Version ${version} has already been published with different rows: nothing has changed.`,
    [error.message, `choose another "version" in ${join(path, MANIFEST_FILE)}, then run "${command('publish', path)}"`],
    { cause: error },
  );
};

const explain = async (
  error: unknown,
  storage: OpenedStorage,
  source: OpenedDirectory,
  command: FormatCommand,
): Promise<unknown> => {
  if (isCodeOf(error, 'conflict')) return explainConflict(error, storage, source, command);
  if (!isCodeOf(error, 'unavailable')) return error;
  return new OperatorError(error.message, [`"${command('doctor')}" checks the storage`], { cause: error });
};

const publish = async (directory: string, options: CommonOptions): Promise<void> => {
  const command: FormatCommand = (...words) => commandLine(options.config, ...words);
  const source = await openSource(directory, command);
  const { dataset, manifest } = source;
  const { version } = manifest;
  let repaired: string | undefined;
  const rows: Record<string, number> = {};
  const services = await withDurableStorage(options.config, 'publish', async (publishTo, storage) => {
    refuseSample(storage);
    const isPublished = await withProgress(async (progress) => {
      const errors = await checkDataset(dataset, storage.collections, {
        maxErrors: MAX_ERRORS,
        onProgress: ({ collection, rows: done, total }) => progress.update(`checking ${collection}`, done, total),
      });
      progress.finish();
      if (errors.total > 0) {
        throw new OperatorError(`${directory} was not published, because it is not valid:`, [
          ...errors.lines(),
          `"${command('validate', directory)}" checks it again`,
        ]);
      }
      const { adapter, collections } = storage;
      const current = await compare(dataset, version, collections, () => adapter.snapshot());
      if (current && current.differs === undefined) return false;
      // Up to this point, the command has only read data, so Ctrl-C could end it immediately.
      await interruptible('The publication was interrupted, and nothing was changed.', (signal) =>
        publishTo(dataset, {
          signal,
          onWait: note,
          onRepair(reason) {
            repaired = reason;
          },
          onProgress({ collection, written }) {
            rows[collection] = written;
            progress.update(`publishing ${collection}`, written, dataset.fileOf(collection)?.rows);
          },
        }),
      ).catch(async (error: unknown) => {
        throw await explain(error, storage, source, command);
      });
      return true;
    });
    return isPublished ? whatServicesDo(storage) : undefined;
  });
  if (repaired !== undefined) note(`The previous version could not be served and was replaced: ${repaired}`);
  if (options.json) {
    return printJson({ version, rows, changed: services !== undefined, ...(repaired !== undefined && { repaired }) });
  }
  if (services === undefined)
    return print(`Version ${version} is already current, with the same rows: nothing has changed.`);
  const total = Object.values(rows).reduce((sum, n) => sum + n, 0);
  print(`Version ${version} is published: ${counted(total, 'row')}. ${services}`);
};

export const register = (command: Command): void => {
  command
    .argument('<dir>', 'the dataset directory')
    .option('--json', 'print the result as JSON for machines')
    .addHelpText(
      'after',
      `
Publishing the current version again, with the same rows, succeeds and changes nothing. A version that has already been
published with different rows is rejected. Readers only see a new version once it has been written completely. A
publication that fails or is interrupted changes nothing. A damaged version is replaced, and the command reports the
damage. If the storage does not exist yet, the command creates it.

Examples:
  $ metro-forecast --config replicas.json publish data
  $ MONGODB_URI=mongodb://db.internal/forecast metro-forecast --config replicas.json publish data --json

Exit codes: 0 published, 1 failure (nothing changed), 2 wrong usage.`,
    )
    .action((directory: string, _: unknown, command: Command) =>
      publish(directory, command.optsWithGlobals<CommonOptions>()),
    );
};
