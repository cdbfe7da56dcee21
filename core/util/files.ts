export { fileErrorReason } from './error-reason.js';
export { FileLockError, withFileLock } from './lock.js';
export { streamRegular } from './read-file.js';
export { syncFolder } from './write-atomic.js';
