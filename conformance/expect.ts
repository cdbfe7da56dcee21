/** What the tests assert with. All but those of values compare documents by their keys alone, so that one fault fails one test. */
import assert from 'node:assert/strict';
import { setTimeout as delay } from 'node:timers/promises';
import type { Collection, Document } from '../core/contracts/dataset.js';
import { StorageError, type StorageErrorCode } from '../core/errors.js';
import { compareBy } from '../core/storage/compare.js';

const keysOf = ({ key }: Collection, documents: readonly Document[]): unknown[][] =>
  documents.map((document) => key.map((field) => document[field]));

/** The same documents in the same order. */
export const sameSequence = (
  collection: Collection,
  found: readonly Document[],
  expected: readonly Document[],
  message?: string,
): void => assert.deepEqual(keysOf(collection, found), keysOf(collection, expected), message);

/** The same documents, in any order. */
export const sameSet = (collection: Collection, found: readonly Document[], expected: readonly Document[]): void => {
  const byKey = compareBy(collection.key);
  sameSequence(collection, found.toSorted(byKey), expected.toSorted(byKey));
};

const labels = (items: readonly Document[]) => items.map(({ id, label }) => ({ id, label }));

/** The same items with the same labels, which tell their version. */
export const sameItems = (found: readonly Document[], expected: readonly Document[]): void =>
  assert.deepEqual(labels(found), labels(expected));

/** Asserts that a call throws or rejects with a `StorageError` of one of these codes, which says what is wrong. */
export const failsWith = async (
  codes: StorageErrorCode | readonly StorageErrorCode[],
  call: () => unknown,
): Promise<StorageError> => {
  const expected = [codes].flat().join(' or ');
  let value: unknown;
  try {
    value = await call();
  } catch (error) {
    assert(error instanceof StorageError, `expected a StorageError with code ${expected}, got ${error}`);
    assert([codes].flat().includes(error.code), `expected code ${expected}, got ${error.code}: ${error.message}`);
    assert.notEqual(error.message, '', `expected the error with code ${error.code} to say what is wrong`);
    return error;
  }
  return assert.fail(`expected a StorageError with code ${expected}, got the answer ${JSON.stringify(value)}`);
};

/** Resolves once the condition holds; fails where it does not within `ms`. */
export const eventually = async (what: string, condition: () => boolean, ms: number): Promise<void> => {
  for (const end = performance.now() + ms; !condition(); await delay(5)) {
    if (performance.now() > end) assert.fail(`expected within ${ms} ms: ${what}`);
  }
};
