/** `metro-forecast validate`: checks a dataset directory by every rule of the format. */
import type { Command } from 'commander';
import { openDirectory } from '../../core/data/directory.js';
import { checkDataset } from '../../core/data/validate.js';
import { loadConfig, loadModules } from '../../product.js';
import { type CommonOptions, parseCount } from '../options.js';
import { count, print, printJson } from '../output.js';
import { withProgress } from '../progress.js';

interface Options extends CommonOptions {
  readonly maxFaults: number;
}

/** Checks the collections that the config's plugins read: another config may need others. */
const validate = async (directory: string, options: Options): Promise<boolean> => {
  const { registry } = await loadModules(await loadConfig({ path: options.config }));
  const { dataset, manifest } = await openDirectory(directory);
  const rows: Record<string, number> = {};
  const faults = await withProgress((progress) =>
    checkDataset(dataset, registry.collections, {
      maxErrors: options.maxFaults,
      onProgress({ collection, rows: done, total }) {
        rows[collection] = done;
        progress.update(`checking ${collection}`, done, total);
      },
    }),
  );

  const ok = faults.total === 0;
  if (options.json) {
    printJson({ directory, version: manifest.version, ok, rows, faultCount: faults.total, faults: faults.kept });
  } else if (ok) {
    const total = Object.values(rows).reduce((sum, n) => sum + n, 0);
    print(
      `${directory} is valid: version ${manifest.version}, ${registry.collections.size} collections, ${count.format(total)} rows.`,
    );
  } else {
    const found = faults.total === 1 ? '1 fault' : `${count.format(faults.total)} faults`;
    print([`${directory} has ${found}:`, ...faults.lines().map((line) => `  - ${line}`)].join('\n'));
  }
  return ok;
};

export const register = (program: Command): void => {
  program
    .command('validate')
    .description('check a dataset directory: files, schemas, keys, order, references, calendar, numbers, bounds')
    .argument('<dir>', 'the dataset directory')
    .option('--max-faults <n>', 'how many faults to list; all are counted', parseCount, 100)
    .option('--json', 'print the report as JSON for machines')
    .addHelpText(
      'after',
      `
Each fault is told as file:row: field: rule. Checked are the collections that the configuration's plugins read:
with --config, those of your own plugins too.

Examples:
  $ metro-forecast validate data
  $ metro-forecast --config api.json validate data --json

Exit codes: 0 valid, 1 faults or unreadable, 2 wrong usage.`,
    )
    .action(async (directory: string, _: unknown, command: Command) => {
      if (!(await validate(directory, command.optsWithGlobals<Options>()))) process.exitCode = 1;
    });
};
