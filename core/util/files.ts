export { fileErrorReason } from './error-reason.js';
export { FileLockError, PUBLICATION_STALE_MS, withFileLock } from './lock.js';
export { type OpenedBytes, openUrl } from './open-url.js';
export { streamRegular } from './read-file.js';
export { linkTarget, makeFolder, ownNewFile, syncFolder } from './write-atomic.js';
