/** Adapters broken on purpose: what is wrong with each, and which tests of the suite must say so. */
import type { BrokenAdapter } from './breaking.js';
import { documentFaults } from './documents.js';
import { lifecycleFaults } from './lifecycle.js';
import { publishingFaults } from './publishing.js';
import { queryFaults } from './queries.js';
import { snapshotFaults } from './snapshots.js';
import { versionFaults } from './versions.js';

export const brokenAdapters: readonly BrokenAdapter[] = [
  ...queryFaults,
  ...documentFaults,
  ...snapshotFaults,
  ...lifecycleFaults,
  ...publishingFaults,
  ...versionFaults,
];
