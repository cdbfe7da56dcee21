/** Where the package's own files (config, dataset, Lua) stand, from sources and from a build alike. */
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const findRoot = (start: string): string => {
  for (let folder = start; ; folder = dirname(folder)) {
    if (existsSync(join(folder, 'package.json'))) return folder;
    if (dirname(folder) === folder) throw new Error(`No package.json above ${start}`);
  }
};

export const packageRoot = findRoot(dirname(fileURLToPath(import.meta.url)));

interface Manifest {
  readonly version: string;
  readonly engines: { readonly node: string };
  readonly peerDependencies: Readonly<Record<string, string>>;
}

const manifest: Manifest = JSON.parse(readFileSync(join(packageRoot, 'package.json'), 'utf8'));

export const packageVersion = manifest.version;

/** The Node that the package needs; and, of the packages which only those install who use them, the versions that fit. */
export const { engines, peerDependencies } = manifest;
