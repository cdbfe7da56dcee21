/** The package itself: where its files (config, dataset, Lua) stand, its version, and the packages it depends on. */
import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

/**
 * Loads a dependency when it is first needed, which saves time and memory where few processes need it. Only for
 * CommonJS packages. The caller gives the type, `typeof import(name)`.
 */
export const loadPackage: NodeJS.Require = createRequire(import.meta.url);

const findRoot = (start: string): string => {
  for (let folder = start; ; folder = dirname(folder)) {
    if (existsSync(join(folder, 'package.json'))) return folder;
    if (dirname(folder) === folder) throw new Error(`No package.json above ${start}`);
  }
};

/** The package's folder, found from sources and from a build alike. */
export const packageRoot = findRoot(dirname(fileURLToPath(import.meta.url)));

interface Manifest {
  readonly name: string;
  readonly version: string;
  readonly engines: { readonly node: string };
  readonly peerDependencies: Readonly<Record<string, string>>;
}

const manifest: Manifest = JSON.parse(readFileSync(join(packageRoot, 'package.json'), 'utf8'));

export const packageName = manifest.name;
export const packageVersion = manifest.version;

/** The required version of Node, and the fitting versions of the optional packages. */
export const { engines, peerDependencies } = manifest;
