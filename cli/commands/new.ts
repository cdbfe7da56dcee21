import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import type { Command } from 'commander';
import { OperatorError } from '../../core/errors.js';
import { fileErrorReason } from '../../core/util/error-reason.js';
import { packageRoot, packageVersion } from '../../core/util/package.js';
import { shellQuoted } from '../../core/util/shell-quote.js';
import { makeFolder } from '../../core/util/write-atomic.js';
import { adapters, keyStores, plugins } from '../../product.js';
import { UsageError } from '../options.js';
import { print, toJson } from '../output.js';
import { EXIT_CODES } from '../report.js';

type TemplateKind = 'plugin' | 'adapter' | 'key-store' | 'format';

interface WrittenPackage {
  readonly folder: string;
  readonly files: readonly string[];
}

const NAME = /^[a-z][a-z0-9]*(-[a-z0-9]+)*$/;
const MAX_CHARACTERS = 50;

const checkName = (name: string): void => {
  if (NAME.test(name) && name.length <= MAX_CHARACTERS) return;
  const words = name.toLowerCase().match(/[a-z0-9]+/g) ?? [];
  const guess = words
    .join('-')
    .replace(/^[^a-z]+/, '')
    .slice(0, MAX_CHARACTERS);
  const advice = NAME.test(guess) ? `; did you mean "${guess}"?` : ', as in "building-permits".';
  throw new UsageError(
    `"${name}" cannot be the name of a package: use up to ${MAX_CHARACTERS} lower-case letters and digits, with hyphens between words${advice}`,
  );
};

/** Names of built-in modules are rejected, because they take precedence over packages in a configuration. */
const checkShadow = (kind: TemplateKind, name: string): void => {
  const builtins = Object.keys({ plugin: plugins, format: plugins, adapter: adapters, 'key-store': keyStores }[kind]);
  if (!builtins.includes(name)) return;
  throw new OperatorError(
    `"${name}" cannot be the name of a package, since it is a built-in ${kind.replace('-', ' ')}; did you mean "my-${name}"?`,
  );
};

const valuesOf = (name: string): Readonly<Record<string, string>> => ({
  name,
  /** Package names can contain hyphens, but collection names cannot. */
  collection: name.replaceAll('-', '_'),
  pascal: name.replace(/(^|-)([a-z0-9])/g, (_, _hyphen, letter: string) => letter.toUpperCase()),
  version: packageVersion,
});

/** @throws OperatorError if the name is invalid or the folder exists */
export const writeTemplate = async (kind: TemplateKind, name: string, to: string): Promise<WrittenPackage> => {
  checkName(name);
  checkShadow(kind, name);
  const template = join(packageRoot, 'cli/templates', kind);
  const folder = join(to, name);
  const values = valuesOf(name);
  const fill = (text: string): string => text.replace(/\{\{(\w+)\}\}/g, (_, key: string) => values[key] ?? '');
  let isCreated = false;
  try {
    await makeFolder(to);
    // `mkdir` fails if the folder exists, so that no file is overwritten.
    await mkdir(folder);
    isCreated = true;
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
    if (isCreated) await rm(folder, { recursive: true, force: true });
    throw new OperatorError(`${folder} cannot be written: ${fileErrorReason(cause)}.`, [], { cause });
  }
};

/** A clone is installed from its folder, because its version might not be in the registry. */
const installCommand = (): string =>
  basename(dirname(packageRoot)) === 'node_modules'
    ? 'npm install'
    : `npm install --save-dev ${shellQuoted(packageRoot)}`;

const WHAT: Readonly<Record<TemplateKind, string>> = {
  plugin: 'a plugin with a collection, endpoints, a small dataset and a test',
  adapter: 'a storage adapter, tested with the conformance suite',
  'key-store': 'a store for API keys, tested against the key store contract',
  format: 'a response format with a small dataset and a test',
};

export const register = (parent: Command): void => {
  parent.addHelpText(
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
      .argument('<name>', 'lower-case letters and digits, with hyphens between words')
      .option('--to <dir>', 'parent of the new folder', '.')
      .option('--json', 'print the written files as JSON')
      .addHelpText(
        'after',
        `
Existing files are never overwritten.

Example:
  $ metro-forecast new ${kind} my-${kind} && cd my-${kind} && npm install && npm test

Exit codes: ${EXIT_CODES}.`,
      )
      .action(async (name: string, { to, json }: { to: string; json?: boolean }) => {
        const { folder, files } = await writeTemplate(kind, name, to);
        const text = [
          `Wrote ${folder}. Next:`,
          `  cd ${folder}`,
          `  ${installCommand()}`,
          '  npm test',
          'README.md explains how to serve it.',
        ].join('\n');
        print(json ? toJson({ folder, files }) : text);
      });
  }
};
