/** A Python that has a package: the machine's own, or one with a copy of the package fetched once, outside the repository. */
import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, rename, rm } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';
import type { Context } from 'mocha';
import { cacheFolder } from './cache-folder.js';
import { skip } from './skip.js';

const run = promisify(execFile);

/** The environment in which `python3` can import the package. Rejects where there is no Python, or pip cannot fetch it. */
export const findPythonPackage = async (name: string): Promise<NodeJS.ProcessEnv> => {
  const has = (env: NodeJS.ProcessEnv): Promise<boolean> =>
    run('python3', ['-c', `import ${name.replaceAll('-', '_')}`], { env }).then(
      () => true,
      () => false,
    );
  if (await has(process.env)) return process.env;
  const { stdout } = await run('python3', ['-c', 'import sys; print("%d.%d" % sys.version_info[:2])']);
  const folder = join(cacheFolder, `${name}-python${stdout.trim()}`);
  // Some bring a program of their own.
  const env = { ...process.env, PYTHONPATH: folder, PATH: `${join(folder, 'bin')}${delimiter}${process.env['PATH']}` };
  if (await has(env)) return env;
  process.stderr.write(`Fetching ${name} with pip, for the tests ...\n`);
  await mkdir(cacheFolder, { recursive: true });
  const partial = await mkdtemp(`${folder}.partial-`);
  try {
    await run('python3', ['-m', 'pip', 'install', '-q', '--only-binary', ':all:', '--target', partial, name]);
    // Another process may have been faster: its copy is as good.
    await rename(partial, folder).catch(async (error: unknown) => {
      if (!(await has(env))) throw error;
    });
  } finally {
    await rm(partial, { recursive: true, force: true });
  }
  return env;
};

/** What `python3` printed; rejects, with all that it printed, when it ends with an exit code other than 0. */
export type RunPython = (args: readonly string[], input?: string) => Promise<string>;

/** Runs `python3`, for a test that needs a package of PyPI: skips it, with the reason, where that cannot be had. */
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
