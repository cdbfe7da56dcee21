import { closest, distance } from 'fastest-levenshtein';

/** The most similar candidate may differ by two edits or by a third of its length, whichever is more. */
export const nearest = (name: string, candidates: readonly string[]): string | undefined => {
  if (candidates.length === 0) return undefined;
  const byLower = new Map(candidates.map((candidate) => [candidate.toLowerCase(), candidate]));
  // Comparing long names is slow, and a name that is much longer than every candidate is not a typo.
  const longest = candidates.reduce((most, { length }) => Math.max(most, length), 0);
  if (name.length > longest + Math.max(2, longest / 3)) return undefined;
  const found = closest(name.toLowerCase(), [...byLower.keys()]);
  const edits = distance(name.toLowerCase(), found);
  return edits <= Math.max(2, Math.floor(found.length / 3)) ? byLower.get(found) : undefined;
};
