/** Audit helpers for adapters and key stores. `./adapter` exports this module as a namespace. */

export { chain, endOf, madeOnly, type Placed, undoing, verifyChain, verifyStore } from './chain.js';
export { contentOf, dataAuditEntry, publicationOf, sumsOf, withPublished } from './data-audit.js';
export { directoryAudit, directoryEntries, recordPublication, replaceDirectoryEntries } from './directory-audit.js';
export { auditEntry as keyAuditEntry, withComparison } from './key-audit.js';
