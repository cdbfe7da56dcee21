import { setTimeout as delay } from 'node:timers/promises';
import type { Command } from 'commander';
import { OperatorError } from '../../core/errors.js';
import { readRegular } from '../../core/util/read-file.js';
import { print } from '../output.js';
import { machineTime, type ServiceFile, serviceFile } from '../reloading.js';
import { EXIT_CODES } from '../report.js';

const POLL_MS = 50;
const MAX_BYTES = 1024 * 1024;

const read = async (file: string): Promise<ServiceFile> => {
  try {
    return JSON.parse(await readRegular(file, MAX_BYTES));
  } catch (cause) {
    throw new OperatorError(
      `There is no ${file}. The service writes it when it has started. If the service is still starting, try again ` +
        'later. Otherwise, start it with this RUNTIME_DIRECTORY.',
      [],
      { cause },
    );
  }
};

const signalTo = (pid: number, signal: 'SIGHUP' | 0): void => {
  try {
    process.kill(pid, signal);
  } catch (cause) {
    const isOther = (cause as NodeJS.ErrnoException).code === 'EPERM';
    const reason = isOther ? 'belongs to another user' : 'has exited';
    throw new OperatorError(`The service (process ${pid}) ${reason}.`, [], { cause });
  }
};

const reload = async (): Promise<void> => {
  const file = serviceFile();
  if (!file) {
    throw new OperatorError(
      'RUNTIME_DIRECTORY is not set. Start the service and this command with the same directory, or send SIGHUP to the service.',
    );
  }
  const since = machineTime();
  let state = await read(file);
  signalTo(state.pid, 'SIGHUP');
  while (state.reloadedAt < since) {
    await delay(POLL_MS);
    signalTo(state.pid, 0);
    state = await read(file);
  }
  const { error, afterRestart } = state;
  if (error !== null) throw new OperatorError(`The previous configuration stays active. ${error}`);
  const settings = afterRestart.join(', ');
  print(settings ? `The configuration was reloaded. These changes need a restart: ${settings}.` : 'Reloaded.');
};

export const register = (command: Command): void => {
  command
    .addHelpText(
      'after',
      `
Finds the service through the file service.json in the directory RUNTIME_DIRECTORY, which systemd sets for the unit. See
"metro-forecast start --help" for what a reload changes.

Example:
  $ RUNTIME_DIRECTORY=/run/metro-forecast metro-forecast reload

Exit codes: ${EXIT_CODES}.`,
    )
    .action(reload);
};
