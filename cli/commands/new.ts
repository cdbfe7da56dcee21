/** `metro-forecast new`: writes a small package to begin a plugin or an adapter with. */

import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Command } from 'commander';
import { OperatorError } from '../../core/errors.js';
import { fileErrorReason } from '../../core/util/error-reason.js';
import { packageRoot, packageVersion } from '../../core/util/package.js';
import { adapters, plugins } from '../../product.js';
import { UsageError } from '../options.js';
import { print, toJson } from '../output.js';
import { EXIT_CODES } from '../report.js';

export type TemplateKind = 'plugin' | 'adapter';

interface WrittenPackage {
  readonly folder: string;
  /** Relative to the folder. */
  readonly files: readonly string[];
}

const NAME = /^[a-z][a-z0-9]*(-[a-z0-9]+)*$/;
const MOST_CHARACTERS = 50;

const checkName = (name: string): void => {
  if (NAME.test(name) && name.length <= MOST_CHARACTERS) return;
  const words = name.toLowerCase().match(/[a-z0-9]+/g) ?? [];
  const guess = words
    .join('-')
    .replace(/^[^a-z]+/, '')
    .slice(0, MOST_CHARACTERS);
  const advice = NAME.test(guess) ? `; did you mean "${guess}"?` : ', as in "building-permits".';
  throw new UsageError(
    `"${name}" cannot be the name of a package: it must be lower-case words and digits with hyphens between, of up to ${MOST_CHARACTERS} characters${advice}`,
  );
};

/** A configuration that names a built-in module never reaches a package of the same name. */
const checkShadow = (kind: TemplateKind, name: string): void => {
  const builtins = Object.keys(kind === 'plugin' ? plugins : adapters);
  if (!builtins.includes(name)) return;
  throw new OperatorError(
    `"${name}" cannot be the name of a package: a built-in ${kind} has it, which a configuration would get in its place; did you mean "my-${name}"?`,
  );
};

/** What stands for each placeholder. */
const valuesOf = (name: string): Readonly<Record<string, string>> => ({
  name,
  /** Names of collections have no hyphens. */
  collection: name.replaceAll('-', '_'),
  /** For `operationId`. */
  pascal: name.replace(/(^|-)([a-z0-9])/g, (_, _hyphen, letter: string) => letter.toUpperCase()),
  version: packageVersion,
});

/**
 * @param to where the package's folder, called like it, is made
 * @throws OperatorError for a name that cannot be a package's, and where something stands in the way
 */
export const writeTemplate = async (kind: TemplateKind, name: string, to: string): Promise<WrittenPackage> => {
  checkName(name);
  checkShadow(kind, name);
  const template = join(packageRoot, 'cli/templates', kind);
  const folder = join(to, name);
  const values = valuesOf(name);
  const fill = (text: string): string => text.replace(/\{\{(\w+)\}\}/g, (_, key: string) => values[key] ?? '');
  try {
    await mkdir(to, { recursive: true });
    // Fails where there is anything of that name: nothing is written over.
    await mkdir(folder);
    const entries = await readdir(template, { recursive: true, withFileTypes: true });
    const files = entries
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name).slice(template.length + 1))
      .sort();
    for (const file of files) {
      const written = join(folder, fill(file));
      await mkdir(dirname(written), { recursive: true });
      await writeFile(written, fill(await readFile(join(template, file), 'utf8')));
    }
    return { folder, files: files.map(fill) };
  } catch (cause) {
    throw new OperatorError(`${folder} cannot be written: ${fileErrorReason(cause)}.`, [], { cause });
  }
};

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
