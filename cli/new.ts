/** `metro-forecast new`: writes a small package to begin a plugin or an adapter with. */
import type { Command } from 'commander';
import { print, toJson } from './output.js';
import { EXIT_CODES } from './report.js';
import { type TemplateKind, writeTemplate } from './template.js';

const WHAT: Readonly<Record<TemplateKind, string>> = {
  plugin: 'a group of endpoints with a collection of its own, a small dataset and its test',
  adapter: 'a storage adapter with the conformance suite as its test',
};

export const register = (program: Command): void => {
  const parent = program
    .command('new')
    .description('write a small package of your own that works at once')
    .addHelpText(
      'after',
      `
Examples:
  $ metro-forecast new plugin building-permits
  $ metro-forecast new adapter parquet --to packages

Exit codes: ${EXIT_CODES}.`,
    );
  for (const [kind, what] of Object.entries(WHAT) as [TemplateKind, string][]) {
    parent
      .command(kind)
      .description(`write ${what}`)
      .argument('<name>', 'lower-case words and digits, with hyphens between')
      .option('--to <dir>', 'where the new folder, which is called like the package, is made', '.')
      .option('--json', 'print the written files as JSON for machines')
      .addHelpText(
        'after',
        `
Never writes over anything that exists.

Example:
  $ metro-forecast new ${kind} my-${kind} && cd my-${kind} && npm install && npm test

Exit codes: ${EXIT_CODES}.`,
      )
      .action(async (name: string, { to, json }: { to: string; json?: boolean }) => {
        const { folder, files } = await writeTemplate(kind, name, to);
        const text = [
          `${folder} is written. Next:`,
          `  cd ${folder}`,
          '  npm install',
          '  npm test',
          'Its README.md says how to serve it.',
        ].join('\n');
        print(json ? toJson({ folder, files }) : text);
      });
  }
};
