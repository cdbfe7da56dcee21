import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { packageRoot } from '../../core/util/package.js';

type Variables = Readonly<Record<string, string>>;

const main = fileURLToPath(new URL('./command-main.js', import.meta.url));

export const commandArgs = (args: readonly string[]): string[] => [main, ...args];

export const runNode = async (args: readonly string[], env: Variables): Promise<string> => {
  const options = { cwd: packageRoot, env: { ...process.env, ...env } };
  const { stdout } = await promisify(execFile)(process.execPath, args, options);
  return stdout;
};

export const runProcess = (args: readonly string[], env: Variables): Promise<string> => runNode(commandArgs(args), env);

export const startProcess = (
  args: readonly string[],
  env: Variables,
  stdio: 'ignore' | 'pipe' = 'ignore',
): ChildProcess =>
  spawn(process.execPath, commandArgs(args), {
    cwd: packageRoot,
    env: { ...process.env, ...env },
    stdio,
  });

/** Resolves with the exit code and all output, even if the command fails. */
export const runCommandLine = (args: readonly string[]): Promise<{ code: number; output: string }> =>
  new Promise((resolve) => {
    execFile(process.execPath, commandArgs(args), { cwd: packageRoot }, (error, stdout, stderr) => {
      resolve({ code: error === null ? 0 : Number(error.code ?? -1), output: stdout + stderr });
    });
  });
