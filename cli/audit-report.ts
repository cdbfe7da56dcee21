import { type Command, InvalidArgumentError } from 'commander';
import type { AuditVerification } from '../core/contracts/audit.js';
import { OperatorError } from '../core/errors.js';
import { jsonOption } from './options.js';
import { note, print, printJson } from './output.js';

export interface AuditOptions {
  readonly verify?: boolean;
  readonly expect?: string;
}

const parseHash = (text: string): string => {
  if (!/^[0-9a-f]{64}$/.test(text)) throw new InvalidArgumentError('It must be a hash of 64 hexadecimal digits.');
  return text;
};

export const addAuditOptions = (command: Command, what: string): Command =>
  command
    .option('--verify', `check that no entry is missing or changed, and that the entries match the ${what}`)
    .option(
      '--expect <hash>',
      'also check that the log contains the entry whose hash an earlier --verify printed',
      parseHash,
    )
    .option(...jsonOption);

/** The option `--expect` implies `--verify`. */
export const isVerification = ({ verify, expect }: AuditOptions): boolean => verify === true || expect !== undefined;

export const reportVerification = (verified: AuditVerification, what: string, json: boolean | undefined): void => {
  const { chained, head, notes, faults } = verified;
  if (json) {
    printJson(verified);
    if (faults.length > 0) process.exitCode = 1;
    return;
  }
  for (const each of notes) note(each);
  if (faults.length > 0) throw new OperatorError(`The audit log of ${what} was changed or is incomplete:`, faults);
  const newest = head === null ? '' : ` The hash of the newest entry is ${head}.`;
  print(`The audit log of ${what} is complete: ${chained} ${chained === 1 ? 'entry' : 'entries'}.${newest}`);
};
