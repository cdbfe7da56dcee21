/** Broken adapters by class. Each adapter names its bug and the rules of the suite that must fail. */

import { callerAssumptions, lockAssumptions, valueAssumptions } from './assumptions.js';
import { atOnceBugs } from './at-once.js';
import { auditFaults } from './audits.js';
import type { BrokenAdapter } from './breaking.js';
import { cacheBugs } from './caches.js';
import { cancellingFaults } from './cancelling.js';
import { columnBugs } from './columns.js';
import { combinationBugs, emptyReadBugs } from './combinations.js';
import { conditionBugs } from './conditions.js';
import { currentBugs } from './current-only.js';
import { defaultBugs } from './defaults.js';
import { detailBugs } from './details.js';
import { closedChangeBugs, disturbedReadBugs, queuedChangeBugs } from './disturbances.js';
import { documentFaults } from './documents.js';
import { missedBugs } from './easily-missed.js';
import { durabilityBugs, followingBugs } from './following.js';
import { hangingBugs } from './hanging.js';
import { historyBugs } from './history.js';
import { holderFaults, sharingFaults } from './holders.js';
import { integrityBugs } from './integrity.js';
import { killedBugs } from './killed.js';
import { lastingBugs } from './lasting.js';
import { leftoverBugs } from './leftovers.js';
import { letterBugs } from './letters.js';
import { lifecycleFaults } from './lifecycle.js';
import { manifestFaults, timeFaults } from './manifests.js';
import { moveBugs } from './moves.js';
import { overlappingBugs } from './overlapping.js';
import { partlyBugs } from './partly.js';
import { interruptedBugs, meanwhileBugs, racingBugs } from './publications.js';
import { publishingFaults } from './publishing.js';
import { queryFaults } from './queries.js';
import { queueBugs } from './queues.js';
import { randomBugs } from './random-reads.js';
import { remainingBugs } from './remaining.js';
import { repairBugs } from './repair.js';
import { representationBugs } from './representations.js';
import { sameSizeBugs } from './same-size.js';
import { crashBugs, entryBugs, openingBugs, similarBugs, unnoticedBugs } from './similar.js';
import { snapshotFaults } from './snapshots.js';
import { boundFaults, columnFaults, orderFaults, pageFaults, placeFaults } from './sqlite.js';
import { storedJsonFaults } from './stored-json.js';
import { instanceFaults, processFaults } from './stores.js';
import { takenBugs } from './taken.js';
import { turnBugs } from './taking-turns.js';
import { momentBugs, nameBugs } from './times.js';
import { totalsFaults } from './totals.js';
import { changedReadBugs, unusualReadBugs } from './unusual-reads.js';
import { descriptionBugs, fieldBugs, keyBugs, resourceBugs } from './values.js';
import { versionFaults } from './versions.js';
import { waitingBugs } from './waiting.js';

export const classes = {
  values: [...documentFaults, ...columnFaults],
  queries: queryFaults,
  orders: orderFaults,
  bounds: boundFaults,
  pages: pageFaults,
  places: placeFaults,
  storedJson: storedJsonFaults,
  totals: totalsFaults,
  snapshots: snapshotFaults,
  sharing: sharingFaults,
  lifecycle: lifecycleFaults,
  publishing: publishingFaults,
  versions: versionFaults,
  audits: auditFaults,
  history: historyBugs,
  hanging: hangingBugs,
  holders: holderFaults,
  times: timeFaults,
  manifests: manifestFaults,
  cancelling: cancellingFaults,
  instances: instanceFaults,
  processes: processFaults,
  following: followingBugs,
  turns: turnBugs,
  durability: durabilityBugs,
  interrupted: interruptedBugs,
  racing: racingBugs,
  meanwhile: meanwhileBugs,
  moments: momentBugs,
  moves: moveBugs,
  waiting: waitingBugs,
  queues: queueBugs,
  remaining: remainingBugs,
  partly: partlyBugs,
  defaults: defaultBugs,
  details: detailBugs,
  sameSize: sameSizeBugs,
  names: nameBugs,
  keys: keyBugs,
  fields: fieldBugs,
  descriptions: descriptionBugs,
  representations: representationBugs,
  resources: resourceBugs,
  leftovers: leftoverBugs,
  conditions: conditionBugs,
  repair: repairBugs,
  integrity: integrityBugs,
  similar: similarBugs,
  unnoticed: unnoticedBugs,
  killed: killedBugs,
  currentOnly: currentBugs,
  taken: takenBugs,
  lasting: lastingBugs,
  opening: [...openingBugs, ...crashBugs],
  entries: entryBugs,
  atOnce: atOnceBugs,
  overlapping: overlappingBugs,
  combinations: combinationBugs,
  emptyReads: emptyReadBugs,
  disturbedReads: disturbedReadBugs,
  queuedChanges: queuedChangeBugs,
  closedChanges: closedChangeBugs,
  columns: columnBugs,
  caches: cacheBugs,
  randomReads: randomBugs,
  letters: letterBugs,
  missed: missedBugs,
  unusualReads: unusualReadBugs,
  changedReads: changedReadBugs,
  assumedValues: valueAssumptions,
  assumedCallers: callerAssumptions,
  assumedLocks: lockAssumptions,
} satisfies Record<string, readonly BrokenAdapter[]>;

export const brokenAdapters: readonly BrokenAdapter[] = Object.values(classes).flat();

/** `npm test` runs only the first adapter of each class. */
export const triedOften: readonly BrokenAdapter[] = Object.values(classes).flatMap((faults) => faults.slice(0, 1));
