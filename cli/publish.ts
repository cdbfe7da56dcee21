/** `metro-forecast publish`: makes a dataset directory the current snapshot of the configured storage. */
import type { Command } from 'commander';
import { openDirectory } from '../core/dataset/directory.js';
import { checkDataset } from '../core/dataset/validate.js';
import { OperatorError } from '../core/errors.js';
import type { CommonOptions } from './options.js';
import { count, print, printJson } from './output.js';
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

const publish = async (directory: string, options: CommonOptions): Promise<void> => {
  const { dataset, manifest } = await openDirectory(directory);
  const rows: Record<string, number> = {};
  const services = await withPublishedStorage(options.config, 'publish', async (publishTo, storage) => {
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
      await publishTo(dataset, {
        signal,
        onProgress({ collection, written }) {
          rows[collection] = written;
          progress.update(`publishing ${collection}`, written, dataset.fileOf(collection)?.rows);
        },
      });
    } finally {
      progress.finish();
      end();
    }
    return whatServicesDo(storage);
  });
  const { version } = manifest;
  if (options.json) return printJson({ version, rows });
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
Readers see nothing of the new version before all of it is written and verified. A publication that fails or is
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
