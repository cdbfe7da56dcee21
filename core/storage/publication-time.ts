/** When a snapshot counts as published: its dataset's own time, unless that would go back in time. */
import type { Manifest } from '../contracts/dataset.js';
import type { Clock } from '../contracts/runtime.js';

/** The manifest's `created` where that is after `previous`, the newest publication so far; else now, or just after it. */
export const publicationTime = (manifest: Manifest, previous: Date | undefined, clock: Clock): Date => {
  const created = Date.parse(manifest.created);
  if (previous === undefined || created > previous.getTime()) return new Date(created);
  return new Date(Math.max(clock.now(), previous.getTime() + 1));
};
