/** The message and the exit code of a failed command. Standard output stays empty, since it is for results. */
import { CommanderError } from 'commander';
import { KeyStoreError, LimiterUnavailable, OperatorError, StorageError } from '../core/errors.js';
import { FileLockError } from '../core/util/lock.js';
import { UsageError } from './options.js';

/** The same for every command. */
export const EXIT_CODES = '0 success, 1 failure, 2 wrong usage';
const FAILED = 1;
const WRONG_USAGE = 2;

/** Errors whose message was written for the operator. */
const KNOWN = [OperatorError, StorageError, KeyStoreError, LimiterUnavailable, FileLockError];

interface ReportOptions {
  /** One JSON object instead of text: `{"error": "...", "faults": ["..."]}`. */
  readonly json: boolean;
  /** Shows where an unexpected error came from. */
  readonly debug: boolean;
}

interface Report {
  /** For standard error. Empty if it is printed already. */
  readonly text: string;
  readonly exitCode: number;
}

/** A heading with one line per error. */
export const errorText = (heading: string, errors: readonly string[], { json }: Pick<ReportOptions, 'json'>): string =>
  json
    ? `${JSON.stringify({ error: heading, faults: errors })}\n`
    : `${[heading, ...errors.map((error) => `  - ${error}`)].join('\n')}\n`;

export const report = (error: unknown, options: ReportOptions): Report => {
  // Commander has printed its own message.
  if (error instanceof CommanderError) return { text: '', exitCode: error.exitCode === 0 ? 0 : WRONG_USAGE };
  const known = error instanceof Error && KNOWN.some((kind) => error instanceof kind);
  if (known) {
    const { heading, errors } = error instanceof OperatorError ? error : { heading: error.message, errors: [] };
    return { text: errorText(heading, errors, options), exitCode: error instanceof UsageError ? WRONG_USAGE : FAILED };
  }
  const message = error instanceof Error ? error.message : String(error);
  const advice = options.debug
    ? String(error instanceof Error ? error.stack : error)
    : 'This is not expected. METRO_DEBUG=1 shows where it came from; report it with that.';
  return { text: errorText(`Unexpected error: ${message}`, [advice], options), exitCode: FAILED };
};
