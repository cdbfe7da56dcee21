import { basename } from 'node:path';
import { type Command, InvalidArgumentError } from 'commander';
import { counted } from '../../core/util/counted.js';
import { type ImportReport, importInto } from '../../plugins/metro/import/import.js';
import { isDay } from '../../plugins/metro/periods.js';
import { commandLine, createdOption } from '../options.js';
import { print, toJson } from '../output.js';
import { withProgress } from '../progress.js';

interface Options {
  readonly to: string;
  readonly vintage?: string;
  readonly created?: Date;
  readonly skipBadRows?: boolean;
  readonly json?: boolean;
}

const NAMED = 10;

const names = (list: readonly string[]): string =>
  list.length <= NAMED ? list.join(', ') : `${list.slice(0, NAMED).join(', ')} and ${list.length - NAMED} more`;

const section = (heading: string, lines: readonly string[]): string[] =>
  lines.length === 0 ? [] : [heading, ...lines.map((line) => `  - ${line}`)];

const summary = ({ index, series, dropped, ...report }: ImportReport): string => {
  const dropRows = Object.entries(dropped.rows).map(([name, rows]) => `${counted(rows, 'row')} of ${name}`);
  const lines = [
    `${report.directory} is now version ${report.version}, vintage ${report.vintage}.`,
    ...(index ? [`  metro_hpi: ${counted(index.markets, 'market')}, ${counted(index.values, 'value')}`] : []),
    ...series.map(
      ({ series_id, cadence, values }) =>
        `  ${series_id}: ${counted(values, 'value')}, ${cadence}${cadence === 'irregular' ? ' (the dates fit no usual cadence)' : ''}`,
    ),
    ...section('Not read:', report.ignored),
    ...section(`Skipped, ${counted(report.badRows, 'bad row')}:`, report.faults),
    ...section(
      'Dropped, because it was computed from the replaced index:',
      dropped.markets.length === 0
        ? dropRows
        : [...dropRows, `markets that the new index lacks (${dropped.markets.length}): ${names(dropped.markets)}`],
    ),
    ...(index ? [`Next: ${commandLine(undefined, 'forecast', report.directory)}`] : []),
  ];
  return lines.join('\n');
};

const parseDay = (text: string): string => {
  if (!isDay(text)) throw new InvalidArgumentError('It must be a date such as 2025-12-31.');
  return text;
};

export const register = (command: Command): void => {
  command
    .argument('<source...>', 'files, directories (searched recursively) or http(s) URLs')
    .requiredOption('--to <dir>', 'the dataset directory; created if it does not exist')
    .option(
      '--vintage <date>',
      'a day on which the data was available (default: the day of --created, or the release day of the newest data)',
      parseDay,
    )
    .addOption(createdOption('the import'))
    .option('--skip-bad-rows', 'skip and report bad rows instead of failing')
    .option('--json', 'print the report as JSON for machines')
    .addHelpText(
      'after',
      `
Reads FHFA's all-transactions index by metro (hpi_at_metro.csv) and series downloaded from FRED. The format is
detected from the content. A new index replaces the markets and their history, and removes the runs that were computed
from the previous index. A series replaces only the stored series with the same id. If an import fails, nothing changes.

Examples:
  $ metro-forecast import hpi_at_metro.csv --to data
  $ metro-forecast import downloads/ --to data --vintage 2026-02-24
  $ metro-forecast import 'https://fred.stlouisfed.org/graph/fredgraph.csv?id=UNRATE' --to data

Exit codes: 0 imported, 1 bad rows or another failure (nothing changed), 2 wrong usage.`,
    )
    .action(async (sources: string[], { created, ...options }: Options) => {
      const report = await withProgress((progress) =>
        importInto({
          ...options,
          sources,
          created,
          onRead: ({ input, done, total }) => progress.update(`reading ${basename(input)}`, done, total, 'bytes'),
          onWrite: ({ collection, written }) => progress.update(`writing ${collection}`, written),
        }),
      );
      print(options.json ? toJson(report) : summary(report));
    });
};
