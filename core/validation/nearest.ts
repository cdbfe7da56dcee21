/** The nearest right name to a mistyped one. */
import { closest, distance } from 'fastest-levenshtein';

/** The candidate within a third of its length (two edits at least) of `name`, ignoring case; or undefined. */
export const nearest = (name: string, candidates: readonly string[]): string | undefined => {
  if (candidates.length === 0) return undefined;
  const byLower = new Map(candidates.map((candidate) => [candidate.toLowerCase(), candidate]));
  // Too long to be near to any: the time for comparing grows with the length.
  const longest = Math.max(...candidates.map(({ length }) => length));
  if (name.length > longest + Math.max(2, longest / 3)) return undefined;
  const found = closest(name.toLowerCase(), [...byLower.keys()]);
  const edits = distance(name.toLowerCase(), found);
  return edits <= Math.max(2, Math.floor(found.length / 3)) ? byLower.get(found) : undefined;
};
