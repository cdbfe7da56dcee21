/** What `keys audit` and `snapshots audit` have in common: their options, and what `--verify` shows. */
import type { Command } from 'commander';
import type { AuditVerification } from '../core/contracts/audit.js';
import { OperatorError } from '../core/errors.js';
import { jsonOption } from './options.js';
import { note, print, printJson } from './output.js';

export interface AuditOptions {
  readonly verify?: boolean;
  readonly expect?: string;
}

/** @param what the audit is about: `keys` or `data` */
export const addAuditOptions = (command: Command, what: string): Command =>
  command
    .option(
      '--verify',
      `check instead that no entry is missing or changed, and that they tell of the ${what} as they are`,
    )
    .option('--expect <hash>', 'with --verify: the hash of the newest entry that an earlier check told')
    .option(...jsonOption);

/** `--expect` without `--verify` asks for a verification too. */
export const isVerification = ({ verify, expect }: AuditOptions): boolean => verify === true || expect !== undefined;

/**
 * @param what the audit is about: `keys` or `data`
 * @throws OperatorError with every fault
 */
export const reportVerification = (verified: AuditVerification, what: string, json: boolean | undefined): void => {
  const { chained, unchained, head, notes, faults } = verified;
  if (json) {
    printJson(verified);
    if (faults.length > 0) process.exitCode = 1;
    return;
  }
  for (const each of notes) note(each);
  if (faults.length > 0) throw new OperatorError(`The audit of ${what} is not as it was written:`, faults);
  const old = unchained === 0 ? '' : ` after ${unchained} of version 1.0, which have no hashes`;
  const newest = head === null ? '' : ` The newest has the hash ${head}.`;
  print(`The audit of ${what} is whole: ${chained} chained ${chained === 1 ? 'entry' : 'entries'}${old}.${newest}`);
};
