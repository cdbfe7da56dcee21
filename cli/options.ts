import { InvalidArgumentError, Option } from 'commander';
import { OperatorError } from '../core/errors.js';
import { shellQuoted } from '../core/util/shell-quote.js';

/** Thrown for invalid arguments and options. The exit code is 2. */
export class UsageError extends OperatorError {}

const DATE = /^\d{4}-\d{2}-\d{2}(T\d{2}:\d{2}(:\d{2}(\.\d+)?)?Z)?$/;

/**
 * Parses a date (midnight UTC), or a time in UTC.
 * @returns milliseconds since 1970, or NaN for invalid dates. `Date.parse` would accept 30 February
 */
export const momentIn = (text: string): number => {
  const time = DATE.test(text) ? Date.parse(text) : Number.NaN;
  return Number.isNaN(time) || new Date(time).toISOString().slice(0, 10) !== text.slice(0, 10) ? Number.NaN : time;
};

const parseTime = (text: string): Date => {
  const time = text.includes('T') ? momentIn(text) : Number.NaN;
  if (Number.isNaN(time)) throw new InvalidArgumentError('It must be a time in UTC such as 2026-03-01T12:00:00Z.');
  return new Date(time);
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

/** The file that `init` writes by default. It takes effect only if it is named by --config or METRO_CONFIG. */
export const CONFIG_FILE = 'metro-forecast.json';

/** npm links programs of local packages here. The shell finds them only with `npx`. */
const LOCAL = /[\\/]node_modules[\\/]\.bin[\\/]metro-forecast/;

const program = (): readonly string[] => [...(LOCAL.test(process.argv[1] ?? '') ? ['npx'] : []), 'metro-forecast'];

/** Returns a command for the operator to copy. If the configuration is not embedded, the command names its path. */
export const commandLine = (config: string | undefined, ...words: readonly string[]): string =>
  [...program(), ...(config === undefined ? [] : ['--config', config]), ...words].map(shellQuoted).join(' ');

export const jsonOption = ['--json', 'print JSON for machines'] as const;

export const isCount = (text: string): boolean => /^[1-9]\d{0,8}$/.test(text);

export const COUNT = 'a whole number from 1 to 999,999,999';

export const parseCount = (text: string): number => {
  if (!isCount(text)) throw new InvalidArgumentError(`It must be ${COUNT}.`);
  return Number(text);
};
