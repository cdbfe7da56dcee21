import type { Command } from 'commander';
import { openDirectory } from '../../core/data/directory.js';
import { checkDataset } from '../../core/data/validate.js';
import { counted } from '../../core/util/counted.js';
import { loadConfig, loadModules } from '../../product.js';
import { type CommonOptions, parseCount } from '../options.js';
import { print, printJson } from '../output.js';
import { withProgress } from '../progress.js';

interface Options extends CommonOptions {
  readonly maxFaults: number;
}

const validate = async (directory: string, options: Options): Promise<boolean> => {
  const { registry } = await loadModules(await loadConfig({ path: options.config }));
  const { dataset, manifest } = await openDirectory(directory);
  const rows: Record<string, number> = {};
  const errors = await withProgress((progress) =>
    checkDataset(dataset, registry.collections, {
      maxErrors: options.maxFaults,
      onProgress({ collection, rows: done, total }) {
        rows[collection] = done;
        progress.update(`checking ${collection}`, done, total);
      },
    }),
  );

  const ok = errors.total === 0;
  if (options.json) {
    printJson({ directory, version: manifest.version, ok, rows, faultCount: errors.total, faults: errors.kept });
  } else if (ok) {
    const total = Object.values(rows).reduce((sum, n) => sum + n, 0);
    print(
      `${directory} is valid: version ${manifest.version}, ${counted(registry.collections.size, 'collection')}, ${counted(total, 'row')}.`,
    );
  } else {
    const found = counted(errors.total, 'error');
    print([`${directory} has ${found}:`, ...errors.lines().map((line) => `  - ${line}`)].join('\n'));
  }
  return ok;
};

export const register = (command: Command): void => {
  command
    .argument('<dir>', 'the dataset directory')
    .option('--max-faults <n>', 'number of errors to list; the check stops after 1,000', parseCount, 100)
    .option('--json', 'print the report as JSON for machines')
    .addHelpText(
      'after',
      `
Errors are printed as file:row: field: rule. The command checks the collections that the configured plugins read.

Examples:
  $ metro-forecast validate data
  $ metro-forecast --config api.json validate data --json

Exit codes: 0 valid, 1 errors or unreadable, 2 wrong usage.`,
    )
    .action(async (directory: string, _: unknown, command: Command) => {
      if (!(await validate(directory, command.optsWithGlobals<Options>()))) process.exitCode = 1;
    });
};
