/** A missing Python package is downloaded once into a folder outside the repository. */
import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, rename, rm } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';
import type { Context } from 'mocha';
import { cacheFolder } from './cache-folder.js';
import { skip } from './skip.js';

const run = promisify(execFile);

/**
 * Returns environment variables with which `python3` can import the package. Rejects if Python is missing or pip
 * cannot download the package.
 */
export const findPythonPackage = async (name: string): Promise<NodeJS.ProcessEnv> => {
  const has = (env: NodeJS.ProcessEnv): Promise<boolean> =>
    run('python3', ['-c', `import ${name.replaceAll('-', '_')}`], { env }).then(
      () => true,
      () => false,
    );
  if (await has(process.env)) return process.env;
  const { stdout } = await run('python3', ['-c', 'import sys; print("%d.%d" % sys.version_info[:2])']);
  const folder = join(cacheFolder, `${name}-python${stdout.trim()}`);
  // Some packages also install programs.
  const env = { ...process.env, PYTHONPATH: folder, PATH: `${join(folder, 'bin')}${delimiter}${process.env['PATH']}` };
  if (await has(env)) return env;
  process.stderr.write(`Fetching ${name} with pip, for the tests ...\n`);
  await mkdir(cacheFolder, { recursive: true });
  const partial = await mkdtemp(`${folder}.partial-`);
  try {
    await run('python3', ['-m', 'pip', 'install', '-q', '--only-binary', ':all:', '--target', partial, name]);
    // A concurrent process might have installed the package.
    await rename(partial, folder).catch(async (error: unknown) => {
      if (!(await has(env))) throw error;
    });
  } finally {
    await rm(partial, { recursive: true, force: true });
  }
  return env;
};

type RunPython = (args: readonly string[], input?: string) => Promise<string>;

/** Skips the test if the package is not available on PyPI. The returned function runs `python3`. */
export const needPythonPackage = async (context: Context, name: string): Promise<RunPython> => {
  const env = await findPythonPackage(name).catch((error: Error) =>
    skip(context, `there is no ${name}: ${error.message.split('\n')[0]}`),
  );
  return async (args, input = '') => {
    const running = run('python3', args, { env, maxBuffer: 64 * 1024 * 1024 });
    running.child.stdin!.end(input);
    try {
      return (await running).stdout;
    } catch (error) {
      const { message, stdout } = error as Error & { stdout: string };
      throw new Error(`${message}\n${stdout}`, { cause: error });
    }
  };
};
