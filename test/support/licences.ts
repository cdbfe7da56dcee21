import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { packageRoot } from '../../core/util/package.js';

/** Licences that require only a copyright notice. */
export const PERMISSIVE: ReadonlySet<string> = new Set([
  'MIT',
  'ISC',
  'Apache-2.0',
  'BSD-2-Clause',
  'BSD-3-Clause',
  '0BSD',
  'BlueOak-1.0.0',
  'CC0-1.0',
  'Unlicense',
  'MIT-0',
]);

export interface InstalledPackage {
  readonly name: string;
  readonly version: string;
  readonly licence: string;
  readonly development: boolean;
  readonly installScript: boolean;
}

interface Lockfile {
  readonly packages: Readonly<
    Record<string, { version: string; license?: string; dev?: boolean; optional?: boolean; hasInstallScript?: boolean }>
  >;
}

export const installedPackages = async (): Promise<readonly InstalledPackage[]> => {
  const { packages }: Lockfile = JSON.parse(await readFile(join(packageRoot, 'package-lock.json'), 'utf8'));
  return Object.entries(packages).flatMap(([path, { version, license = 'unknown', dev, hasInstallScript }]) => {
    if (path === '') return [];
    const name = path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length);
    return [{ name, version, licence: license, development: dev ?? false, installScript: hasInstallScript ?? false }];
  });
};
