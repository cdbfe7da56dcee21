import { expect } from 'chai';
import { Command } from 'commander';
import { report } from '../../cli/report.js';

export interface CommandRun {
  readonly stdout: string;
  readonly stderr: string;
  readonly error: Error | undefined;
}

const replaceWrite = (stream: NodeJS.WriteStream, write: (text: string) => void): (() => void) => {
  const original = stream.write;
  stream.write = (chunk: string | Uint8Array) => {
    write(String(chunk));
    return true;
  };
  return () => {
    stream.write = original;
  };
};

export const runCommand = async (
  register: (command: Command) => void,
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<CommandRun> => {
  const program = new Command('metro-forecast').exitOverride().option('-c, --config <file>');
  const name = /^(-c|--config)$/.test(args[0]!) ? args[2]! : args[0]!;
  register(program.command(name));
  const output = { stdout: '', stderr: '' };
  const saved = { ...process.env };
  for (const name of Object.keys(process.env)) {
    if (/^METRO_|^(HOST|PORT|REDIS_URL|MONGODB_URI)$/.test(name)) delete process.env[name];
  }
  Object.assign(process.env, env);
  const restore = [
    replaceWrite(process.stdout, (text) => {
      output.stdout += text;
    }),
    replaceWrite(process.stderr, (text) => {
      output.stderr += text;
    }),
  ];
  try {
    await program.parseAsync(['node', 'metro-forecast', ...args]);
    return { ...output, error: undefined };
  } catch (error) {
    return { ...output, error: error as Error };
  } finally {
    for (const each of restore) each();
    process.env = saved;
  }
};

/**
 * Returns functions for commands that must succeed and for commands that must fail.
 * @param run runs the command with these arguments
 */
export const expecting = (run: (...args: string[]) => Promise<CommandRun>) => {
  const done = async (...args: string[]): Promise<CommandRun> => {
    const result = await run(...args);
    if (result.error) throw result.error;
    return result;
  };
  return {
    done,
    json: async (...args: string[]) => JSON.parse((await done(...args, '--json')).stdout),
    refused: async (...args: string[]): Promise<string> => {
      const { error, stdout } = await run(...args);
      expect(report(error, { json: false, debug: false }).text).to.not.match(/^(Unexpected|$)/);
      expect(stdout).to.equal('');
      return (error as Error).message;
    },
  };
};
