/** Finds numbers that JSON cannot carry. It has no infinities, but 1e999 is read as one. */

/** The path of the first number in a document that is NaN or infinite, as `benchmark.mae_pp`; or undefined. */
export const infiniteField = (value: unknown, path = ''): string | undefined => {
  if (typeof value === 'number') return Number.isFinite(value) ? undefined : path;
  if (typeof value !== 'object' || value === null) return undefined;
  for (const name in value) {
    const inner = (value as Record<string, unknown>)[name];
    if (typeof inner !== 'number' && typeof inner !== 'object') continue;
    const found = infiniteField(inner, path === '' ? name : `${path}.${name}`);
    if (found !== undefined) return found;
  }
  return undefined;
};
