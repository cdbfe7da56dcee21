/** The open files of this process, which include its connections. Undefined on systems without /proc. */
import { readdirSync, readFileSync } from 'node:fs';

export const openFiles = (): number | undefined => {
  try {
    return readdirSync('/proc/self/fd').length;
  } catch {
    return undefined;
  }
};

/** Returns the limit on open files. Node has raised the soft limit to the hard limit. */
export const maxOpenFiles = (): number | undefined => {
  try {
    const limit = /^Max open files +(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8'))?.[1];
    return limit === undefined ? undefined : Number(limit);
  } catch {
    return undefined;
  }
};

/** Files that are not client connections: the dataset, the log, and the connections to stores. */
const RESERVED = 100;

/**
 * The number of client connections that the limit on open files allows. Without a free file descriptor, clients would
 * have to wait.
 */
export const connectionsAllowed = (limit = maxOpenFiles()): number =>
  limit === undefined ? Number.POSITIVE_INFINITY : Math.max(1, limit - Math.min(RESERVED, Math.ceil(limit / 2)));

/** Returns a warning if the limit on open files allows fewer connections than the configuration. */
export const fileLimitWarning = (maxConnections: number): string | undefined => {
  const limit = maxOpenFiles();
  const allowed = connectionsAllowed(limit);
  return allowed < maxConnections
    ? `This process may open ${limit} files, so it accepts ${allowed} connections instead of ${maxConnections} (server.maxConnections). Raise the limit with "ulimit -n", LimitNOFILE or --ulimit.`
    : undefined;
};
