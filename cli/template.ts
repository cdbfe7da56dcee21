/** Makes a package from a template: `cli/templates/<kind>`, with the package's name in the place of {{name}}. */
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { adapters, plugins } from '../app/builtins.js';
import { OperatorError } from '../core/errors.js';
import { fileErrorReason } from '../core/files/error-reason.js';
import { packageRoot, packageVersion } from '../core/files/package.js';
import { UsageError } from './options.js';

export type TemplateKind = 'plugin' | 'adapter';

export interface WrittenPackage {
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
