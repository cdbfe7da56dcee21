export { fileErrorReason } from './error-reason.js';
export { FileLockError, withFileLock } from './lock.js';
export { streamRegular } from './read-file.js';
export { linkTarget, syncFolder } from './write-atomic.js';
