/** This package: its folder, its version and its dependencies. */
import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

/**
 * Loads a dependency when it is first needed, to save time and memory. Only for CommonJS packages. The type argument is
 * `typeof import(name)`.
 */
export const loadPackage: NodeJS.Require = createRequire(import.meta.url);

const findRoot = (start: string): string => {
  for (let folder = start; ; folder = dirname(folder)) {
    if (existsSync(join(folder, 'package.json'))) return folder;
    if (dirname(folder) === folder) throw new Error(`No package.json above ${start}`);
  }
};

/** The folder of the package, the same for sources and for a build. */
export const packageRoot = findRoot(dirname(fileURLToPath(import.meta.url)));

interface Manifest {
  readonly name: string;
  readonly version: string;
  readonly engines: { readonly node: string };
  readonly peerDependencies: Readonly<Record<string, string>>;
}

const readManifest = (): Manifest => JSON.parse(readFileSync(join(packageRoot, 'package.json'), 'utf8'));

const manifest = readManifest();

export const packageName = manifest.name;
export const packageVersion = manifest.version;

/** Reads the version again, because an upgrade may have changed it while this process was running. */
export const installedVersion = (): string => readManifest().version;

/** The required versions of Node and of optional packages. */
export const { engines, peerDependencies } = manifest;
