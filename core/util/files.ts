/** Helpers for plugins and adapters that work with files named by the user. */
export { fileErrorReason } from './error-reason.js';
export { FileLockError, withFileLock } from './lock.js';
export { streamRegular } from './read-file.js';
