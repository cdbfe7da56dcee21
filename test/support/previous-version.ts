/** Builds the previous version of this program from the history of the repository, to test upgrades. */
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { packageRoot } from '../../core/util/package.js';
import { cacheFolder } from './cache-folder.js';

const run = promisify(execFile);

/** Until there is a tagged release, this commit is the previous version. */
const FIRST = '5282b729';

const git = async (...args: readonly string[]): Promise<string> =>
  (await run('git', ['-C', packageRoot, ...args])).stdout.trim();

const findPrevious = async (): Promise<{ readonly commit: string; readonly isRelease: boolean }> => {
  const [tag] = (await git('tag', '--list', 'v*', '--sort=-version:refname')).split('\n');
  return { commit: await git('rev-parse', '--verify', `${tag || FIRST}^{commit}`), isRelease: Boolean(tag) };
};

interface PreviousVersion {
  readonly folder: string;
  readonly isRelease: boolean;
}

const build = async (commit: string, folder: string): Promise<void> => {
  const archive = `${folder}.tar`;
  await git('archive', '--output', archive, commit);
  await mkdir(folder);
  await run('tar', ['-xf', archive, '-C', folder]);
  await rm(archive);
  const env = { ...process.env, npm_config_update_notifier: 'false' };
  await run('npm', ['ci', '--ignore-scripts', '--no-audit', '--no-fund', '--prefer-offline'], { cwd: folder, env });
  await run('npm', ['run', 'build'], { cwd: folder, env });
};

/**
 * Resolves with the folder of the built version, or with the reason why there is no previous version. Later runs use
 * the same folder.
 */
export const previousVersion = async (): Promise<PreviousVersion | { readonly missing: string }> => {
  let commit: string;
  let isRelease: boolean;
  try {
    ({ commit, isRelease } = await findPrevious());
  } catch {
    return { missing: `the history of the repository does not contain ${FIRST}; it may be a shallow clone` };
  }
  const folder = join(cacheFolder, `version-${commit.slice(0, 12)}`);
  if (existsSync(folder)) return { folder, isRelease };
  await mkdir(cacheFolder, { recursive: true });
  const temporary = await mkdtemp(join(cacheFolder, 'building-'));
  try {
    await build(commit, join(temporary, 'version'));
    await rename(join(temporary, 'version'), folder);
    return { folder, isRelease };
  } catch (error) {
    return { missing: `${commit.slice(0, 12)} could not be built: ${(error as Error).message.split('\n')[0]}` };
  } finally {
    await rm(temporary, { recursive: true, force: true });
  }
};
