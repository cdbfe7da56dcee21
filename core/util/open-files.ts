/** Counts the open files of this process, including connections. Results are undefined on systems without /proc. */
import { readdirSync, readFileSync } from 'node:fs';

export const openFiles = (): number | undefined => {
  try {
    return readdirSync('/proc/self/fd').length;
  } catch {
    return undefined;
  }
};

/** Returns the limit on open files. Node raises the soft limit to the hard limit on startup. */
export const maxOpenFiles = (): number | undefined => {
  try {
    const limit = /^Max open files +(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8'))?.[1];
    return limit === undefined ? undefined : Number(limit);
  } catch {
    return undefined;
  }
};

/** Reserved for files other than client connections: the dataset, the log and connections to stores. */
const RESERVED = 100;

/**
 * Returns how many client connections the limit on open files allows. Any more clients would have to wait for a free
 * file descriptor.
 */
export const connectionsAllowed = (limit = maxOpenFiles()): number =>
  limit === undefined ? Number.POSITIVE_INFINITY : Math.max(1, limit - Math.min(RESERVED, Math.ceil(limit / 2)));

/** Returns a warning if the limit on open files allows fewer connections than configured. */
export const fileLimitWarning = (maxConnections: number): string | undefined => {
  const limit = maxOpenFiles();
  const allowed = connectionsAllowed(limit);
  return allowed < maxConnections
    ? `This process may open ${limit} files, so it accepts ${allowed} connections instead of ${maxConnections} (server.maxConnections). Raise the limit with "ulimit -n", LimitNOFILE or --ulimit.`
    : undefined;
};
