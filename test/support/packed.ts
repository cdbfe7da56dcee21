import { execFile } from 'node:child_process';
import { chmod, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { packageRoot } from '../../core/util/package.js';

const run = promisify(execFile);

const runtimePackages = async (): Promise<string[]> => {
  const { packages } = JSON.parse(await readFile(join(packageRoot, 'package-lock.json'), 'utf8')) as {
    packages: Record<string, { dev?: boolean; optional?: boolean; devOptional?: boolean }>;
  };
  return Object.entries(packages).flatMap(([path, { dev, optional, devOptional }]) => {
    const name = /^node_modules\/((?:@[^/]+\/)?[^/]+)$/.exec(path)?.[1];
    return name && !dev && !optional && !devOptional ? [name] : [];
  });
};

interface Packed {
  readonly tarball: Buffer;
  readonly files: readonly string[];
}

const pack = async (): Promise<Packed> => {
  const folder = await mkdtemp(join(tmpdir(), 'packed-'));
  try {
    const args = ['pack', '--ignore-scripts', '--json', '--pack-destination', folder];
    const { stdout } = await run('npm', args, { cwd: packageRoot, maxBuffer: 2 ** 26 });
    const [{ filename, files }] = JSON.parse(stdout) as [{ filename: string; files: readonly { path: string }[] }];
    return { tarball: await readFile(join(folder, filename)), files: files.map(({ path }) => path) };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
};

let made: Promise<Packed> | undefined;

export const packed = (): Promise<Packed> => {
  made ??= pack();
  return made;
};

/** Installs the tarball of `npm pack` without a registry. Dependencies are links to this repository's packages. */
export const installPacked = async (folder: string, others: readonly string[] = []): Promise<void> => {
  const modules = join(folder, 'node_modules');
  const ours = join(modules, 'metro-forecast-api');
  await mkdir(modules, { recursive: true });
  const { tarball } = await packed();
  await writeFile(`${ours}.tgz`, tarball);
  await mkdir(ours);
  await run('tar', ['-xzf', `${ours}.tgz`, '-C', ours, '--strip-components', '1']);
  await rm(`${ours}.tgz`);
  for (const name of [...(await runtimePackages()), ...others]) {
    await mkdir(dirname(join(modules, name)), { recursive: true });
    await symlink(join(packageRoot, 'node_modules', name), join(modules, name), 'dir');
  }
  await mkdir(join(modules, '.bin'));
  for (const name of ['metro-forecast-api', ...others]) {
    const { bin = {} } = JSON.parse(await readFile(join(modules, name, 'package.json'), 'utf8')) as {
      bin?: Readonly<Record<string, string>>;
    };
    for (const [command, file] of Object.entries(bin)) {
      await chmod(join(modules, name, file), 0o755);
      await symlink(join(modules, name, file), join(modules, '.bin', command));
    }
  }
};
