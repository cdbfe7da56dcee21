import { CommanderError } from 'commander';
import { KeyStoreError, LimiterUnavailable, OperatorError, StorageError } from '../core/errors.js';
import { FileLockError } from '../core/util/lock.js';
import { UsageError } from './options.js';

export const EXIT_CODES = '0 success, 1 failure, 2 wrong usage';
const FAILED = 1;
const WRONG_USAGE = 2;

/** Errors whose messages are written for operators. */
const KNOWN = [OperatorError, StorageError, KeyStoreError, LimiterUnavailable, FileLockError];

interface ReportOptions {
  /** True to print one JSON object, `{"error": "...", "faults": ["..."]}`, instead of text. */
  readonly json: boolean;
  readonly debug: boolean;
}

interface Report {
  readonly text: string;
  readonly exitCode: number;
}

export const errorText = (heading: string, errors: readonly string[], { json }: Pick<ReportOptions, 'json'>): string =>
  json
    ? `${JSON.stringify({ error: heading, faults: errors })}\n`
    : `${[heading, ...errors.map((error) => `  - ${error}`)].join('\n')}\n`;

export const report = (error: unknown, options: ReportOptions): Report => {
  // Commander has already printed its message.
  if (error instanceof CommanderError) return { text: '', exitCode: error.exitCode === 0 ? 0 : WRONG_USAGE };
  const known = error instanceof Error && KNOWN.some((kind) => error instanceof kind);
  if (known) {
    const { heading, errors } = error instanceof OperatorError ? error : { heading: error.message, errors: [] };
    return { text: errorText(heading, errors, options), exitCode: error instanceof UsageError ? WRONG_USAGE : FAILED };
  }
  const message = error instanceof Error ? error.message : String(error);
  const advice = options.debug
    ? String(error instanceof Error ? error.stack : error)
    : 'This error is unexpected. To report it, run the command again with METRO_DEBUG=1 and include the output.';
  return { text: errorText(`Unexpected error: ${message}`, [advice], options), exitCode: FAILED };
};
