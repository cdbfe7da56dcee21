import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

/**
 * Loads a package when it is first needed, which saves startup time and memory. The result has the type `any`, so
 * callers must cast it.
 */
export const loadPackage: NodeJS.Require = createRequire(import.meta.url);

const findRoot = (start: string): string => {
  for (let folder = start; ; folder = dirname(folder)) {
    if (existsSync(join(folder, 'package.json'))) return folder;
    if (dirname(folder) === folder) throw new Error(`No package.json above ${start}`);
  }
};

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

/** `package.json` is read again, because an upgrade might have replaced it since this process started. */
export const installedVersion = (): string => readManifest().version;

export const { engines, peerDependencies } = manifest;
