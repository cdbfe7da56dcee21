/** Counts open files. The count is undefined on systems without /proc. */
import { readdirSync, readFileSync } from 'node:fs';

export const openFiles = (): number | undefined => {
  try {
    return readdirSync('/proc/self/fd').length;
  } catch {
    return undefined;
  }
};

/** Node raises the soft limit of open files to the hard limit at startup. */
export const maxOpenFiles = (): number | undefined => {
  try {
    const limit = /^Max open files +(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8'))?.[1];
    return limit === undefined ? undefined : Number(limit);
  } catch {
    return undefined;
  }
};

/** This number of open files is reserved for the dataset, the log, and connections to stores. */
const RESERVED = 100;

export const connectionsAllowed = (limit = maxOpenFiles()): number =>
  limit === undefined ? Number.POSITIVE_INFINITY : Math.max(1, limit - Math.min(RESERVED, Math.ceil(limit / 2)));

export const fileLimitWarning = (maxConnections: number): string | undefined => {
  const limit = maxOpenFiles();
  const allowed = connectionsAllowed(limit);
  return allowed < maxConnections
    ? `This process may open ${limit} files, so it accepts ${allowed} connections instead of ${maxConnections} (server.maxConnections). Raise the limit with "ulimit -n", LimitNOFILE or --ulimit.`
    : undefined;
};
