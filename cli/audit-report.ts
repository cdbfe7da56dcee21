/** Defines the options of `keys audit` and `snapshots audit`, and prints the result of a verification. */
import type { Command } from 'commander';
import type { AuditVerification } from '../core/contracts/audit.js';
import { OperatorError } from '../core/errors.js';
import { jsonOption } from './options.js';
import { note, print, printJson } from './output.js';

export interface AuditOptions {
  readonly verify?: boolean;
  readonly expect?: string;
}

/** @param what the subject of the audit: `keys` or `data` */
export const addAuditOptions = (command: Command, what: string): Command =>
  command
    .option('--verify', `check that no entry is missing or changed, and that the entries agree with the ${what}`)
    .option('--expect <hash>', 'with --verify: the hash that an earlier --verify printed; an entry must have it')
    .option(...jsonOption);

/** Whether the options ask for a verification. `--expect` implies `--verify`. */
export const isVerification = ({ verify, expect }: AuditOptions): boolean => verify === true || expect !== undefined;

/**
 * @param what the subject of the audit: `keys` or `data`
 * @throws OperatorError that lists every error
 */
export const reportVerification = (verified: AuditVerification, what: string, json: boolean | undefined): void => {
  const { chained, head, notes, faults } = verified;
  if (json) {
    printJson(verified);
    if (faults.length > 0) process.exitCode = 1;
    return;
  }
  for (const each of notes) note(each);
  if (faults.length > 0) throw new OperatorError(`The audit of ${what} was changed or is incomplete:`, faults);
  const newest = head === null ? '' : ` The hash of the newest entry is ${head}.`;
  print(`The audit of ${what} is complete: ${chained} ${chained === 1 ? 'entry' : 'entries'}.${newest}`);
};
