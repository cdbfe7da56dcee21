/** Defines every broken adapter. The suite's second process imports this file and selects an adapter by name. */
import { describeAdapter } from '../../../adapters/conformance/index.js';
import { targetOf } from './breakable.js';
import { durabilityBugs, followingBugs } from './faults/following.js';
import { brokenAdapters } from './faults/index.js';
import { interruptedBugs, meanwhileBugs, racingBugs } from './faults/publications.js';
import { momentBugs, nameBugs } from './faults/times.js';
import { descriptionBugs, fieldBugs, keyBugs, resourceBugs } from './faults/values.js';
import { FolderAdapter } from './folder-adapter.js';

export const bugs = [
  followingBugs,
  durabilityBugs,
  interruptedBugs,
  racingBugs,
  meanwhileBugs,
  momentBugs,
  nameBugs,
  keyBugs,
  fieldBugs,
  descriptionBugs,
  resourceBugs,
].flat();

if ('describe' in globalThis) {
  describeAdapter(targetOf('sqlite', { sqlite: {} }));
  describeAdapter(targetOf('folder', { folder: FolderAdapter }));
  for (const { that, ...breakage } of [...brokenAdapters, ...bugs]) describeAdapter(targetOf(that, breakage));
}
