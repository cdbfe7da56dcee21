/** Copies of documents that nobody can change. */

const copyOf = (value: unknown): unknown => {
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return Object.freeze(value.map(copyOf));
  // From entries, since assigning a field named `__proto__` would set the prototype.
  return Object.freeze(Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, copyOf(inner)])));
};

/** A copy of a JSON value that is frozen in depth: it may be handed to everybody who asks. */
export const frozenCopy = <T>(value: T): T => copyOf(value) as T;
