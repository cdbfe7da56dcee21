/** The steps of generated sequences, and the datasets that they publish. */
import { type Dataset, type Manifest, StorageError } from 'metro-forecast-api/adapter';
import { DETAILS, detailed } from './edits.js';
import { datasetOf, type Rows, rowsWithCrowd } from './fixture.js';
import type { SkewedClock } from './instance.js';

export const KINDS = [
  ...(['publish', 'publish', 'publish', 'publish again', 'fail', 'activate', 'activate', 'prune', 'prune'] as const),
  ...(['hold', 'hold as of', 'release', 'close', 'close all', 'open another', 'set the clock'] as const),
  ...(['meanwhile', 'meanwhile', 'at once', 'at once', 'read during a change'] as const),
  ...(['in another process', 'in another process', 'kill'] as const),
];

const ONLY_WITH_VERSIONS: readonly string[] = ['activate', 'prune', 'hold as of', 'at once'];

export const KINDS_WITHOUT_VERSIONS = KINDS.filter((kind) => !ONLY_WITH_VERSIONS.includes(kind));

/** The numbers select an adapter, a name or snapshot, and a variant. They are taken modulo the number of choices. */
export interface Step {
  readonly kind: (typeof KINDS)[number];
  readonly by: number;
  readonly which: number;
  readonly how: number;
  /** Whether all adapters must have noticed the change before the next step. */
  readonly settles: boolean;
}

/**
 * Version names, one list per sequence. Some stores treat several names of a list as equal, or reserve some of them.
 */
export const NAMES: readonly (readonly string[])[] = [
  ['a', 'b', 'c', 'd', 'e', 'f'],
  ['1', '01', '1.0', '1e0'],
  ['Ab', 'aB', 'AB', 'ab'],
  ['x_1', 'x-1', 'x.1', 'xy1'],
  ['constructor', 'toString', 'valueOf', 'length'],
  ['v1', 'v10', 'v1-0', 'v'],
  ['2024-01-01', '2024-01-01T00', '2024', '20240101'],
  ['current', 'latest', 'null', 'undefined'],
  ['0', '00', 'false', '0x0'],
  ['tmp', 'lock', 'catalog.json', 'staging'],
  ['a', 'a.json', 'a.tmp', 'a.lock'],
  ['items', 'readings', 'manifest', 'versions'],
  ['1.2.3', '1.2', '1.20', '1.10'],
  ['', 'a', 'b', 'c'].map((end) => `${'n'.repeat(99 - end.length)}m${end}`),
];

/** Creation times for the first version of a sequence. */
export const STARTS: readonly string[] = [
  '2024-01-01T00:00:00.000Z',
  '1969-12-31T23:59:58.750Z',
  '1970-01-01T00:00:00.000Z',
  '2001-09-09T01:46:38.999Z',
  '2038-01-19T03:14:06.500Z',
  '2999-12-31T23:59:59.001Z',
  '1901-12-13T20:45:51.000Z',
  '0999-06-01T00:00:00.000Z',
];

const SIZES = [1, 3, 0, 12, 1];

const rowsOfSize = (size: number, label: string): Rows => ({
  items: Array.from({ length: size }, (_, i) => ({ id: `i${100 + i}`, grade: 'a', rank: i, label })),
  readings: size > 1 ? [{ station: 'x', day: '2024-01-01', hour: size, value: size }] : [],
});

/** Returns a dataset whose batches contain `batchSize` rows. */
export const datasetWith = (manifest: Manifest, content: Rows, batchSize?: number): Dataset => ({
  ...datasetOf(manifest.version, manifest.created, content, batchSize),
  manifest,
});

let labels = 0;

/** Returns rows with labels that no other rows have. The result can be empty. */
export const newRows = (how: number): Rows => rowsOfSize(SIZES[how % SIZES.length]!, `label ${++labels}`);

const details = Object.values(DETAILS);

export const withDetails = (content: Rows, how: number): Rows => detailed(content, details[how % details.length]!, how);

const HOUR_MS = 3_600_000;

/** Moves or stops the clock. Returns a description for the log of the sequence. */
export const setClock = (clock: SkewedClock, how: number): string => {
  clock.stoppedAt = undefined;
  if (how % 3 === 0) {
    clock.offset += HOUR_MS;
    return 'an hour passes';
  }
  if (how % 3 === 1) {
    clock.offset -= 48 * HOUR_MS;
    return 'the clock goes back by two days';
  }
  clock.stoppedAt = clock.now();
  return 'the clock stops';
};

/** Undoes `setClock`. */
export const resetClock = (clock: SkewedClock): void => {
  clock.stoppedAt = undefined;
  clock.offset = 0;
};

/** More rows than a store writes in one transaction. */
const MANY_ROWS = 5000;

/** Ways in which a publication can fail, each with the code of the error. */
const FAILURES = [
  ['read() throws', 'invalid_dataset'],
  ['its first batch cannot be read', 'invalid_dataset'],
  ['its last batch cannot be read', 'invalid_dataset'],
  ['it ends after many rows', 'invalid_dataset'],
  ['its rows are invalid', 'invalid_dataset'],
  ['its reading is aborted', 'invalid_dataset'],
  ['it is aborted', 'aborted'],
  ['it was aborted before', 'aborted'],
] as const;
export type Failure = (typeof FAILURES)[number][0];

export const failureOf = (how: number): (typeof FAILURES)[number] => FAILURES[how % FAILURES.length]!;

/** Returns a dataset that fails in the collection `at`, or calls `abort` there. */
export const failingDataset = (
  name: string,
  created: string,
  failure: Failure,
  at: string,
  abort: () => void,
): Dataset => {
  const whole = datasetOf(name, created, rowsOfSize(12, 'of a failed publication'));
  const read = (collection: string) => {
    if (collection !== at) return whole.read(collection);
    if (failure === 'read() throws') throw new Error('the file cannot be opened');
    return (async function* () {
      if (failure === 'its first batch cannot be read') throw new Error('the file is not JSON');
      if (failure === 'its reading is aborted') throw new DOMException('The reading was aborted.', 'AbortError');
      if (failure === 'its rows are invalid') throw new StorageError('invalid_dataset', 'A row is invalid.');
      if (failure === 'it ends after many rows' && at === 'crowd') yield rowsWithCrowd()['crowd']!.slice(0, MANY_ROWS);
      else yield* whole.read(collection);
      if (failure === 'it is aborted') abort();
      else if (failure !== 'it was aborted before') throw new Error('the file ends too early');
    })();
  };
  return { ...whole, read };
};
