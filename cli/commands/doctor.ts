import type { Command } from 'commander';
import { findings } from '../doctor/checks.js';
import type { Finding } from '../doctor/finding.js';
import type { CommonOptions } from '../options.js';
import { print, printJson } from '../output.js';
import { withProgress } from '../progress.js';

const MARKS: Readonly<Record<Finding['state'], string>> = {
  ok: 'ok     ',
  warning: 'warning',
  failed: 'FAILED ',
  skipped: 'skipped',
};

const line = ({ check, state, message, advice }: Finding): string =>
  [
    `${MARKS[state]}  ${check.padEnd(13)}  ${message}`,
    ...(advice ?? []).map((text) => `${' '.repeat(24)}-> ${text}`),
  ].join('\n');

interface Options extends CommonOptions {
  readonly integrity?: boolean;
}

const examine = async ({ config, json, integrity = false }: Options): Promise<boolean> => {
  const found: Finding[] = [];
  await withProgress(async (progress) => {
    const onRows = (rows: number) => progress.update('checking the dataset', rows);
    for await (const finding of findings(config, process.env, { onRows, integrity })) {
      progress.finish();
      found.push(finding);
      if (!json) print(line(finding));
    }
  });
  const ok = found.every(({ state }) => state !== 'failed');
  if (json) printJson({ ok, checks: found });
  return ok;
};

export const register = (command: Command): void => {
  command
    .option('--integrity', 'also compare every index of a database file with its rows (adapter "sqlite")')
    .option('--json', 'print the findings as JSON for machines')
    .addHelpText(
      'after',
      `
The command reads and writes the stores as the service does, and leaves nothing behind. It can run while the service is
running. Each finding is ok, a warning (the service starts), FAILED, or skipped because an earlier check failed.

Examples:
  $ metro-forecast doctor
  $ metro-forecast --config api.json doctor --json

Exit codes: 0 no check failed, 1 a check failed, 2 wrong usage.`,
    )
    .action(async (_: unknown, command: Command) => {
      if (!(await examine(command.optsWithGlobals<Options>()))) process.exitCode = 1;
    });
};
