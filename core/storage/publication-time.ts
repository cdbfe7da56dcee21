/** When a snapshot counts as published: its dataset's own time, unless that would go back in time. */
import type { Manifest } from '../contracts/dataset.js';
import type { Clock } from '../contracts/runtime.js';

/** Now, or just after what came before where the clock has not moved on from it. */
export const momentAfter = (previous: Date, clock: Clock): Date =>
  new Date(Math.max(clock.now(), previous.getTime() + 1));

/** The manifest's `created` where that is after `previous`, the newest publication so far; else now, or just after it. */
export const publicationTime = (manifest: Manifest, previous: Date | undefined, clock: Clock): Date => {
  const created = Date.parse(manifest.created);
  if (previous === undefined || created > previous.getTime()) return new Date(created);
  return momentAfter(previous, clock);
};
