/** Runs one command of the command line in this process. */
import { Command } from 'commander';

export interface CommandResult {
  readonly stdout: string;
  readonly stderr: string;
  readonly exitCode: number;
}

/**
 * Runs a command as the command line would, up to the point where faults become messages: what it throws,
 * this throws.
 */
export const runCommand = async (
  register: (program: Command) => void,
  argv: readonly string[],
): Promise<CommandResult> => {
  const written = { stdout: '', stderr: '' };
  const originals = { stdout: process.stdout.write, stderr: process.stderr.write };
  const program = new Command('metro-forecast').option('-c, --config <file>').exitOverride();
  register(program);
  const exitCode = process.exitCode;
  process.exitCode = 0;
  for (const name of ['stdout', 'stderr'] as const) {
    process[name].write = ((text: string) => {
      written[name] += text;
      return true;
    }) as typeof process.stdout.write;
  }
  try {
    await program.parseAsync([...argv], { from: 'user' });
    return { ...written, exitCode: Number(process.exitCode) };
  } finally {
    process.exitCode = exitCode;
    process.stdout.write = originals.stdout;
    process.stderr.write = originals.stderr;
  }
};
