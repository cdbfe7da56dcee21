/** Options that many commands have. */
import { InvalidArgumentError, Option } from 'commander';
import { OperatorError } from '../core/errors.js';

/** Values of arguments and options that cannot be used, whatever the state of the service: exit code 2. */
export class UsageError extends OperatorError {}

const parseTime = (text: string): Date => {
  const time = new Date(text);
  if (!/^\d{4}-\d\d-\d\dT.*Z$/.test(text) || Number.isNaN(time.getTime()))
    throw new InvalidArgumentError('It must be a time in UTC like 2026-03-01T12:00:00Z.');
  return time;
};

/**
 * `--created`: the time that a dataset bears, which becomes its snapshot's publication time. @param what of which it is
 * the time: `the import`
 */
export const createdOption = (what: string): Option =>
  new Option(
    '--created <time>',
    `the time of ${what}, for builds that repeat and vintages of the past (default: now)`,
  ).argParser(parseTime);

/** What every command may be given. */
export interface CommonOptions {
  readonly config?: string;
  readonly json?: boolean;
}

/** A text as one word of a shell's command line. */
const quoted = (text: string): string => (/^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`);

/**
 * A command for operators to copy, which acts on the same configuration.
 * @param config as this command was given it, by `--config`
 * @param words FILE and the like are for the operator to replace
 */
export const commandLine = (config: string | undefined, ...words: readonly string[]): string =>
  ['metro-forecast', ...(config === undefined ? [] : ['--config', config]), ...words].map(quoted).join(' ');

/** The option `--json` of commands whose output needs no other word. */
export const jsonOption = ['--json', 'print JSON for machines'] as const;

export const parseCount = (text: string): number => {
  if (!/^[1-9]\d{0,8}$/.test(text)) throw new InvalidArgumentError('It must be a whole number from 1.');
  return Number(text);
};
