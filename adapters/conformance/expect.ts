/**
 * Assertions for the tests. Most tests compare only the keys of documents, so that a wrong value does not make
 * unrelated tests fail. Tests of values compare whole documents. Lists are not compared with `assert.deepEqual`,
 * because its message for two long lists can take tens of gigabytes of memory in Node 22 and later.
 */
import assert from 'node:assert/strict';
import { setTimeout as delay } from 'node:timers/promises';
import { inspect, isDeepStrictEqual } from 'node:util';
import {
  type Collection,
  compareBy,
  type Document,
  StorageError,
  type StorageErrorCode,
} from 'metro-forecast-api/adapter';

const NEIGHBOURS = 3;
const ITEM_CHARACTERS = 80;
const VALUE_CHARACTERS = 1000;

const oneLine = (value: unknown): string =>
  inspect(value, { depth: null, compact: true, breakLength: Infinity, maxArrayLength: 100 });

/**
 * Returns the first `length` characters of the text if `position` is among them, otherwise the characters around
 * `position`. An ellipsis marks omitted text.
 */
const excerpt = (text: string, length: number, position = 0): string => {
  const start = position < length ? 0 : position - Math.floor(length / 2);
  const end = start + length;
  return `${start > 0 ? '…' : ''}${text.slice(start, end)}${end < text.length ? '…' : ''}`;
};

const excerpts = (one: string, other: string, length: number): [string, string] => {
  let position = 0;
  while (position < one.length && one[position] === other[position]) position++;
  return [excerpt(one, length, position), excerpt(other, length, position)];
};

const itemAt = (list: readonly unknown[], index: number): string =>
  index < list.length ? oneLine(list[index]) : '(none)';

const isPlain = (value: object): boolean =>
  Object.getPrototypeOf(value) === Object.prototype && Object.getOwnPropertySymbols(value).length === 0;

/** Compares JSON values. Returns false for some values that are equal but not JSON. */
const isSameJson = (found: unknown, expected: unknown): boolean => {
  if (Object.is(found, expected)) return true;
  if (typeof found !== 'object' || typeof expected !== 'object' || found === null || expected === null) return false;
  if (Array.isArray(found) ? !Array.isArray(expected) : !isPlain(found) || !isPlain(expected)) return false;
  const names = Object.keys(found);
  if (names.length !== Object.keys(expected).length) return false;
  if (Array.isArray(found) && found.length !== (expected as unknown[]).length) return false;
  for (const name of names) {
    if (!Object.hasOwn(expected, name)) return false;
    if (!isSameJson(found[name as keyof object], expected[name as keyof object])) return false;
  }
  return true;
};

/** Like `isDeepStrictEqual`, but much faster for equal JSON values. */
export const isSame = (found: unknown, expected: unknown): boolean =>
  isSameJson(found, expected) || isDeepStrictEqual(found, expected);

type IsSame = (found: unknown, expected: unknown) => boolean;

const firstDifference = (found: readonly unknown[], expected: readonly unknown[], isEqual: IsSame = isSame): number => {
  const shorter = Math.min(found.length, expected.length);
  for (let i = 0; i < shorter; i++) if (!isEqual(found[i], expected[i])) return i;
  return found.length === expected.length ? -1 : shorter;
};

const surroundings = (found: readonly unknown[], expected: readonly unknown[], difference: number): string => {
  const start = Math.max(0, difference - NEIGHBOURS);
  const end = Math.min(Math.max(found.length, expected.length), difference + NEIGHBOURS + 1);
  const lines = [['  index', 'expected', 'found']];
  for (let i = start; i < end; i++) {
    const items = excerpts(itemAt(expected, i), itemAt(found, i), ITEM_CHARACTERS);
    lines.push([`${i === difference ? '>' : ' '} ${i}`, ...items]);
  }
  const widths = [0, 1].map((column) => Math.max(...lines.map((cells) => cells[column]!.length)));
  return lines
    .map(([index, wanted, got]) => `  ${index!.padEnd(widths[0]!)}  ${wanted!.padEnd(widths[1]!)}  ${got}`)
    .join('\n');
};

/**
 * Asserts that two lists have equal items in the same order, in linear time and memory.
 * @param rule completes "expected ..." in the message
 */
export const sameList = (found: readonly unknown[], expected: readonly unknown[], rule: string): void => {
  if (!Array.isArray(found)) {
    assert.fail(`expected ${rule}; found no list, but ${excerpt(oneLine(found), VALUE_CHARACTERS)}`);
  }
  const difference = firstDifference(found, expected);
  if (difference < 0) return;
  const lengths = `${expected.length} expected, ${found.length} found`;
  const table = surroundings(found, expected, difference);
  assert.fail(`expected ${rule}; the first difference is at index ${difference} (${lengths}):\n\n${table}\n`);
};

export const isEmpty = (found: readonly unknown[], rule: string): void => sameList(found, [], rule);

export const sameValue = (found: unknown, expected: unknown, rule: string): void => {
  if (isSame(found, expected)) return;
  const [wanted, got] = excerpts(oneLine(expected), oneLine(found), VALUE_CHARACTERS);
  assert.fail(`expected ${rule}:\n\n  expected: ${wanted}\n  found:    ${got}\n`);
};

const keysOf = ({ key }: Collection, documents: readonly Document[]): unknown[][] =>
  documents.map((document) => key.map((field) => document[field]));

const sameKeys = (
  collection: Collection,
  found: readonly Document[],
  expected: readonly Document[],
  order: () => string,
): void => {
  const { key } = collection;
  const isSameKey: IsSame = (one, other) =>
    key.every((field) => Object.is((one as Document | null)?.[field], (other as Document)[field]));
  if (Array.isArray(found) && firstDifference(found, expected, isSameKey) < 0) return;
  const shown = `each shown as [${collection.key.join(', ')}]`;
  const rule = `the documents of "${collection.name}", each once and ${order()} (${shown})`;
  sameList(keysOf(collection, found), keysOf(collection, expected), rule);
};

const forQuery = (query: object = {}): string =>
  Object.keys(query).length > 0 ? ` for ${excerpt(JSON.stringify(query), VALUE_CHARACTERS)}` : '';

export const sameSequence = (
  collection: Collection,
  found: readonly Document[],
  expected: readonly Document[],
  query?: object,
): void => sameKeys(collection, found, expected, () => `in order${forQuery(query)}`);

export const sameSet = (
  collection: Collection,
  found: readonly Document[],
  expected: readonly Document[],
  query?: object,
): void => {
  const byKey = compareBy(collection.key);
  const rule = () => `in any order, here sorted by key${forQuery(query)}`;
  sameKeys(collection, found.toSorted(byKey), expected.toSorted(byKey), rule);
};

const labels = (items: readonly Document[]) => items.map(({ id, label }) => ({ id, label }));

/** Asserts that two lists contain the same items of the same version. */
export const sameItems = (found: readonly Document[], expected: readonly Document[]): void =>
  sameList(labels(found), labels(expected), 'the items of one version, with its labels');

/** Asserts that a call throws or rejects with a `StorageError` that has a message and one of the given codes. */
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
    assert.notEqual(error.message, '', `expected the error with code ${error.code} to have a message`);
    return error;
  }
  const found = excerpt(oneLine(value), VALUE_CHARACTERS);
  return assert.fail(`expected a StorageError with code ${expected}, got the result ${found}`);
};

/** Duration of the loop in `slowness` on an idle machine, in milliseconds. */
const PROBE_MS = 10;
/** A measurement of `slowness` is used again for this time, in milliseconds. */
const RECENT_MS = 1000;
let measured = { until: 0, factor: 1 };

/** Measures how many times slower this machine is now than when it is idle. Returns a factor from 1 to 20. */
export const slowness = (): number => {
  const start = performance.now();
  if (start < measured.until) return measured.factor;
  for (let i = 0, x = 1; i < 1e7; i++) x = Math.imul(x, 48_271) ^ i;
  const end = performance.now();
  measured = { until: end + RECENT_MS, factor: Math.min(20, Math.max(1, (end - start) / PROBE_MS)) };
  return measured.factor;
};

/**
 * Returns the `performance.now()` time at which a long test stops early. A slow machine gets up to ten times as long.
 */
export const endAfter = (ms: number): number => performance.now() + ms * Math.min(10, slowness());

/** `factor` applies to all time limits. Fast stores that are expected to fail need less time. */
export const timeLimits = { factor: 1 };

/** Returns the time limit that applies instead of `ms`, in milliseconds. */
export const limitOf = (ms: number): number => ms * timeLimits.factor;

/** Fails if the condition is not true after `ms` milliseconds, or later on a slow machine. */
export const eventually = async (
  what: string,
  condition: () => boolean | Promise<boolean>,
  ms: number,
): Promise<void> => {
  const start = performance.now();
  const passed = () => performance.now() - start;
  for (let limit = limitOf(ms); !(await condition()); await delay(Math.max(5, passed() / 100))) {
    if (passed() < limit) continue;
    const allowed = limitOf(ms) * slowness();
    if (allowed <= limit) assert.fail(`expected within ${limitOf(ms)} ms: ${what}`);
    limit = allowed;
  }
};

/** Fails if `work` takes longer than `ms` milliseconds, or longer on a slow machine. */
export const within = async <T>(what: string, work: Promise<T>, ms: number): Promise<T> => {
  let isSettled = false;
  const settle = () => {
    isSettled = true;
  };
  work.then(settle, settle);
  await eventually(what, () => isSettled, ms);
  return work;
};
