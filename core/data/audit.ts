/** The audit helpers of adapters and key stores, as one namespace. */
export { auditEntry as keyAuditEntry, withComparison } from '../keys/audit.js';
export { chain, endOf, madeOnly, type Placed, undoing, verifyChain } from '../keys/chain.js';
export { contentOf, dataAuditEntry, publicationOf, sumsOf, withPublished } from './data-audit.js';
export { directoryAudit, recordPublication } from './directory-audit.js';
