/** What adapters need to publish: batches with named errors, frozen documents, the time of publication. */
import type { Document, Manifest } from '../contracts/dataset.js';
import type { Clock } from '../contracts/runtime.js';
import { StorageError } from '../errors.js';

/** The same batches; an error of their source becomes `invalid_dataset`, with its cause. */
export async function* readable(batches: AsyncIterable<readonly Document[]>): AsyncGenerator<readonly Document[]> {
  try {
    yield* batches;
  } catch (cause) {
    if (cause instanceof StorageError) throw cause;
    const message = `The dataset could not be read whole: ${(cause as Error).message}`;
    throw new StorageError('invalid_dataset', message, { cause });
  }
}

const copyOf = (value: unknown): unknown => {
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return Object.freeze(value.map(copyOf));
  // From entries, since assigning a field named `__proto__` would set the prototype.
  return Object.freeze(Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, copyOf(inner)])));
};

/** A copy of a JSON value, frozen in depth, so that all callers may share it. */
export const frozenCopy = <T>(value: T): T => copyOf(value) as T;

/** The present time, or a millisecond after `previous` if the clock has not passed it. */
export const momentAfter = (previous: Date, clock: Clock): Date =>
  new Date(Math.max(clock.now(), previous.getTime() + 1));

/** The manifest's `created` if that is after `previous`, the newest publication so far; otherwise `momentAfter` it. */
export const publicationTime = (manifest: Manifest, previous: Date | undefined, clock: Clock): Date => {
  const created = Date.parse(manifest.created);
  if (previous === undefined || created > previous.getTime()) return new Date(created);
  return momentAfter(previous, clock);
};
