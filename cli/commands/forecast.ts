import { type Command, Option } from 'commander';
import { defaultRules } from '../../plugins/metro/forecast/default-rules.js';
import { forecastDirectory } from '../../plugins/metro/forecast/forecast-directory.js';
import { defaultForecastOptions } from '../../plugins/metro/forecast/model.js';
import { defaultModel, fallbackModel, models } from '../../plugins/metro/forecast/models/index.js';
import { defaultSpan } from '../../plugins/metro/forecast/runs.js';
import { quarterName } from '../../plugins/metro/periods.js';
import { type ForecastArguments, parseForecastArguments } from '../forecast-options.js';
import { forecastReport, forecastSummary } from '../forecast-summary.js';
import { createdOption } from '../options.js';
import { print, toJson } from '../output.js';
import { withProgress } from '../progress.js';

interface Options extends ForecastArguments {
  readonly created?: Date;
  readonly recompute?: boolean;
  readonly json?: boolean;
}

const modelList = models.map(({ name, summary }) => `  ${name.padEnd(18)}${summary}`).join('\n');

const modelOption = new Option(
  '--model <name>',
  `the forecast model (default: ${defaultModel.name}, or ${fallbackModel.name} without its inputs)`,
)
  .choices(models.map(({ name }) => name))
  .argParser((name) => name);

export const register = (command: Command): void => {
  command
    .argument('<dir>', 'the dataset directory')
    .addOption(modelOption)
    .option('--runs <n>', 'number of runs, one for each of the newest quarters')
    .option(
      '--from <quarter>',
      `the first quarter of a run (default: ${quarterName(defaultSpan.from)}, unless --runs is given)`,
    )
    .option('--to <quarter>', 'the last quarter of a run (default: the newest quarter of the index)')
    .option(
      '--min-values <n>',
      `leave out markets with fewer index values (default: ${defaultForecastOptions.minValues})`,
    )
    .option('--expand-point <percent>', `lowest point forecast of "expand" (default: ${defaultRules.expandPoint})`)
    .option(
      '--expand-lower <percent>',
      `the lower bound of "expand" must be above this (default: ${defaultRules.expandLower})`,
    )
    .option(
      '--contract-point <percent>',
      `a point forecast below this is "contract" (default: ${defaultRules.contractPoint})`,
    )
    .option(
      '--margin <points>',
      `percentage points by which a forecast must pass a threshold before a signal changes (default: ${defaultRules.margin})`,
    )
    .option(
      '--grades <a,b,c,d>',
      `probabilities of a decline below which the grade is A, B, C and D (default: ${defaultRules.grades.join(',')})`,
    )
    .option('--recompute', 'recompute existing runs, except runs that earlier vintages have published')
    .addOption(createdOption('the forecast'))
    .option('--json', 'print the report as JSON for machines')
    .addHelpText(
      'after',
      `
Each run uses only the data up to its quarter, from the dataset's vintage. The run of the newest quarter is
"published" if FHFA has not released the next quarter yet, according to both the clock and --created. It is kept when
later vintages are imported. All other runs are "reconstructed". If outcomes have become known since a run, they are
stored with its forecasts and scored in the backtest. The command changes only runs, forecasts, backtests and the
markets' figures. A command that fails changes nothing.

Models:
${modelList}

Examples:
  $ metro-forecast forecast data
  $ metro-forecast forecast data --from 2005Q4 --to 2024Q4
  $ metro-forecast forecast data --created 2024-11-26T14:00:00Z
  $ metro-forecast forecast data --recompute --model persistence --runs 16 --expand-point 3

Exit codes: 0 forecast, 1 failure (nothing changed), 2 wrong usage.`,
    )
    .action(async (directory: string, { json, created, recompute, ...given }: Options) => {
      const input = parseForecastArguments(given);
      const report = await withProgress((progress) =>
        forecastDirectory(directory, {
          ...input,
          recompute,
          created,
          onRead: (rows) => progress.update('reading hpi', rows),
        }),
      );
      print(json ? toJson(forecastReport(report)) : forecastSummary(directory, report));
    });
};
