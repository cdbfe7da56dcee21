/** What `keys audit --verify` shows. */
import type { AuditVerification } from '../core/contracts/audit.js';
import { OperatorError } from '../core/errors.js';
import { note, print, printJson } from './output.js';

/**
 * @param what that the audit is of
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
  print(`The audit of ${what} is whole: ${chained} chained entries${old}. The newest has the hash ${head}.`);
};
