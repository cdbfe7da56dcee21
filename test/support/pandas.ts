/** A Python that has pandas: the machine's own, or one with a copy of pandas fetched once, outside the repository. */
import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, rename, rm } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { Context } from 'mocha';

const run = promisify(execFile);
const cache = join(process.env['XDG_CACHE_HOME'] || join(homedir(), '.cache'), 'metro-forecast-api');

const has = (env: NodeJS.ProcessEnv): Promise<boolean> =>
  run('python3', ['-c', 'import pandas'], { env }).then(
    () => true,
    () => false,
  );

/** The environment in which `python3` can import pandas. Rejects where there is no Python, or pip cannot fetch it. */
const findPandas = async (): Promise<NodeJS.ProcessEnv> => {
  if (await has(process.env)) return process.env;
  const { stdout } = await run('python3', ['-c', 'import sys; print("%d.%d" % sys.version_info[:2])']);
  const folder = join(cache, `pandas-python${stdout.trim()}`);
  const env = { ...process.env, PYTHONPATH: folder };
  if (await has(env)) return env;
  process.stderr.write('Fetching pandas with pip, for the tests ...\n');
  await mkdir(cache, { recursive: true });
  const partial = await mkdtemp(`${folder}.partial-`);
  try {
    await run('python3', ['-m', 'pip', 'install', '-q', '--only-binary', ':all:', '--target', partial, 'pandas']);
    // Another process may have been faster: its copy is as good.
    await rename(partial, folder).catch(async (error: unknown) => {
      if (!(await has(env))) throw error;
    });
  } finally {
    await rm(partial, { recursive: true, force: true });
  }
  return env;
};

/**
 * Runs a Python program on `input`, for a test that needs pandas: skips it, with the reason, where that cannot be had.
 * @returns what the program printed
 */
export const needPandas = async (context: Context): Promise<(program: string, input: string) => Promise<string>> => {
  const env = await findPandas().catch((error: Error) => {
    console.log(`      skipped: there is no pandas (${error.message.split('\n')[0]})`);
    return context.skip();
  });
  return async (program, input) => {
    const running = run('python3', ['-c', program], { env, maxBuffer: 64 * 1024 * 1024 });
    running.child.stdin!.end(input);
    return (await running).stdout;
  };
};
