/** `metro-forecast validate`: says whether a dataset directory keeps every rule. */
import { type Command, InvalidArgumentError } from 'commander';
import { loadConfig } from '../app/load-config.js';
import { loadModules } from '../app/load-modules.js';
import { openDirectory } from '../core/dataset/directory.js';
import { formatFault } from '../core/dataset/fault.js';
import { validateDataset } from '../core/dataset/validate.js';
import { createProgress } from './progress.js';

interface Options {
  readonly config?: string;
  readonly json?: boolean;
  readonly maxFaults: number;
}

const print = (text: string) => process.stdout.write(`${text}\n`);

const count = new Intl.NumberFormat('en-US');

const parseCount = (text: string): number => {
  if (!/^[1-9]\d*$/.test(text)) throw new InvalidArgumentError('It must be a whole number from 1.');
  return Number(text);
};

/** Checks the collections that the config's plugins read: another config may need others. */
const validate = async (directory: string, { config, json, maxFaults }: Options): Promise<boolean> => {
  const { registry } = await loadModules(await loadConfig({ path: config, env: process.env }));
  const { dataset, manifest } = await openDirectory(directory);
  const { version, collections: files } = manifest;
  const rows: Record<string, number> = {};
  const progress = createProgress();
  const onProgress = ({ collection, rows: done }: { collection: string; rows: number }) => {
    rows[collection] = done;
    progress.update(`checking ${collection}`, done, files[collection]?.rows);
  };
  const options = { files, maxFaults, onProgress };
  const faults = await validateDataset(dataset, registry.collections, options).finally(() => progress.finish());

  const ok = faults.length === 0;
  const total = count.format(Object.values(rows).reduce((sum, n) => sum + n, 0));
  if (json) print(JSON.stringify({ directory, version, ok, rows, faults }, null, 2));
  else if (ok)
    print(`${directory} is valid: version ${version}, ${registry.collections.size} collections, ${total} rows.`);
  else print([`${directory} is not valid:`, ...faults.map((fault) => `  - ${formatFault(fault)}`)].join('\n'));
  return ok;
};

export const register = (program: Command): void => {
  program
    .command('validate')
    .description('check a dataset directory: files, schemas, keys, order, references, calendar, numbers, bounds')
    .argument('<dir>', 'the dataset directory')
    .option('--max-faults <n>', 'how many faults to list of each file', parseCount, 100)
    .option('--json', 'print the report as JSON for machines')
    .addHelpText(
      'after',
      `
Each fault is told with file, row, field and rule. Checked are the collections that the configuration's plugins read:
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
