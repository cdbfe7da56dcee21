/** Reloads the configuration on SIGHUP. Reports the result to the log, to systemd, and to `metro-forecast reload`. */
import { execFile } from 'node:child_process';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import type { LoadedConfig } from '../core/config/load.js';
import type { Logger } from '../core/contracts/runtime.js';
import { OperatorError } from '../core/errors.js';
import { countReload } from '../core/observe/reload-metrics.js';
import { fileErrorReason } from '../core/util/error-reason.js';
import { writeFileAtomic } from '../core/util/write-atomic.js';
import { loadConfig } from '../product.js';
import { inOneLine } from './serve.js';
import { onReload } from './signals.js';

export interface ServiceFile {
  readonly pid: number;
  /** The `machineTime` at which the last reload started. 0 before the first reload. */
  readonly reloadedAt: number;
  /** The reason why the last reload failed. Null if it succeeded. */
  readonly error: string | null;
  readonly afterRestart: readonly string[];
}

/**
 * Returns a time in milliseconds that processes of this machine can compare. Unlike `Date.now`, it never goes back,
 * even if the system clock is set.
 */
export const machineTime = (): number => Number(process.hrtime.bigint() / 1_000_000n);

export const serviceFile = (): string | undefined => {
  const [directory] = process.env['RUNTIME_DIRECTORY']?.split(':') ?? [];
  return directory ? join(directory, 'service.json') : undefined;
};

interface Reloading {
  readonly path: string | undefined;
  readonly logger: Logger;
  readonly url: string;
  /**
   * Applies a configuration. Resolves with the settings that need a restart. If the promise rejects, nothing has
   * changed.
   */
  apply(loaded: LoadedConfig): Promise<readonly string[]>;
}

/**
 * Reloads the configuration on SIGHUP. Must be called after `listen()`, because it notifies systemd that the service is
 * ready.
 */
export const reloadAtHangup = ({ path, logger, url, apply }: Reloading): void => {
  const report = async (reloadedAt: number, error: string | null, afterRestart: readonly string[] = []) => {
    const status = error === null ? `Listening on ${url}` : `The reload failed: ${error}`;
    notifySystemd(logger, [...(reloadedAt === 0 ? ['--ready'] : []), `--status=${status}`]);
    const file = serviceFile();
    if (!file) return;
    const state: ServiceFile = { pid: process.pid, reloadedAt, error, afterRestart };
    await writeFileAtomic(file, JSON.stringify(state)).catch((cause: unknown) => {
      logger.warn(`${file} cannot be written: ${fileErrorReason(cause)}`);
    });
  };
  const reload = async (): Promise<void> => {
    const startedAt = machineTime();
    try {
      const afterRestart = await apply(await loadConfig({ path }));
      countReload('success');
      await report(startedAt, null, afterRestart);
    } catch (error) {
      countReload('failure');
      const reason = error instanceof OperatorError ? inOneLine(error) : String(error);
      logger.error(`the configuration was not reloaded: ${reason}`);
      await report(startedAt, reason);
    }
  };
  const stateFile = serviceFile();
  // The file is removed on exit, because the process id in it could later belong to an unrelated process.
  if (stateFile) process.once('exit', () => rmSync(stateFile, { force: true }));
  let latest = report(0, null);
  let isDue = false;
  onReload(() => {
    // A reload is already queued and will read the latest configuration.
    if (isDue) return;
    isDue = true;
    latest = latest.then(() => {
      isDue = false;
      return reload();
    });
  });
};

/** Runs `systemd-notify`, because Node does not support Unix datagram sockets. */
const notifySystemd = (logger: Logger, states: readonly string[]): void => {
  if (!process.env['NOTIFY_SOCKET']) return;
  execFile('systemd-notify', states, (error) => {
    if (error) logger.warn({ err: error }, 'systemd was not notified');
  });
};
