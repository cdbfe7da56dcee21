import { InvalidArgumentError, Option } from 'commander';
import { OperatorError } from '../core/errors.js';

/** Thrown for invalid arguments and options. The exit code is 2. */
export class UsageError extends OperatorError {}

const parseTime = (text: string): Date => {
  const time = new Date(text);
  // `Date` would read 31 February as 3 March.
  const isCalendarDay = !Number.isNaN(time.getTime()) && time.toISOString().startsWith(text.slice(0, 10));
  if (!/^\d{4}-\d\d-\d\dT.*Z$/.test(text) || !isCalendarDay)
    throw new InvalidArgumentError('It must be a time in UTC such as 2026-03-01T12:00:00Z.');
  return time;
};

export const createdOption = (what: string): Option =>
  new Option(
    '--created <time>',
    `the time of ${what} in UTC, such as 2026-03-01T12:00:00Z, for reproducible builds and past vintages (default: now)`,
  ).argParser(parseTime);

export interface CommonOptions {
  readonly config?: string;
  readonly json?: boolean;
}

/** Quotes a word for a shell if necessary. */
export const quoted = (text: string): string =>
  /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;

/** The file that `init` writes by default. It takes effect only if it is named by --config or METRO_CONFIG. */
export const CONFIG_FILE = 'metro-forecast.json';

/** npm links programs of local packages here. The shell finds them only with `npx`. */
const LOCAL = /[\\/]node_modules[\\/]\.bin[\\/]metro-forecast/;

const program = (): readonly string[] => [...(LOCAL.test(process.argv[1] ?? '') ? ['npx'] : []), 'metro-forecast'];

/** Returns a command for the operator to copy. If the configuration is not embedded, the command names its path. */
export const commandLine = (config: string | undefined, ...words: readonly string[]): string =>
  [...program(), ...(config === undefined ? [] : ['--config', config]), ...words].map(quoted).join(' ');

export const jsonOption = ['--json', 'print JSON for machines'] as const;

export const parseCount = (text: string): number => {
  if (!/^[1-9]\d{0,8}$/.test(text)) throw new InvalidArgumentError('It must be a whole number of at least 1.');
  return Number(text);
};
