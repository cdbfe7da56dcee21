/** The steps of generated sequences, the state of the model, and the datasets that steps publish. */
import { type Dataset, type Snapshot, StorageError } from 'metro-forecast-api/adapter';
import { find } from './find-rows.js';
import { datasetOf, items } from './fixture.js';
import type { Opened } from './instance.js';
import type { OtherProcess } from './start-process.js';

export const KINDS = [
  ...(['publish', 'publish', 'publish older', 'fail', 'abort', 'activate', 'activate', 'prune', 'prune'] as const),
  ...(['hold', 'hold as of', 'release', 'close', 'wait', 'in another process', 'kill'] as const),
];

/** `by` selects an adapter, and `which` selects a name or a snapshot. Both are taken modulo the number of choices. */
export interface Step {
  readonly kind: (typeof KINDS)[number];
  readonly by: number;
  readonly which: number;
}

export const NAMES = ['a', 'b', 'c', 'd'];
export const HOUR_MS = 3_600_000;

/** A version in the model. `label` is unique, so that versions with the same name can be distinguished. */
export interface Version {
  readonly name: string;
  readonly label: string;
  readonly publishedAt: number;
}

export interface Move {
  readonly version: Version;
  readonly since: number;
}

export interface Held {
  readonly snapshot: Snapshot;
  readonly version: Version;
  readonly by: string;
}

export interface Actor {
  readonly name: string;
  opened: Opened;
  calls: number;
  /** The version that the last call of `changed()` announced. Before the first call, the current version at opening. */
  announced: Move | undefined;
}

export interface Limits {
  readonly reopens: boolean;
  readonly followMs: number;
  readonly startProcess?: () => OtherProcess;
}

export const hasCode = (error: unknown, code: string) => error instanceof StorageError && error.code === code;

export const labelOf = async (snapshot: Snapshot, release = true): Promise<unknown> => {
  try {
    return (await find(snapshot, items))[0]?.['label'];
  } finally {
    if (release) snapshot.release();
  }
};

export const datasetFor = (name: string, created: string, label: string) =>
  datasetOf(name, created, { items: [{ id: 'x', grade: 'a', rank: 1, label }] });

/** Returns a dataset that aborts the signal after its first collection, or throws after its last one. */
export const failingDataset = (name: string, created: string, abort: (() => void) | undefined): Dataset => {
  const whole = datasetFor(name, created, 'failed');
  return {
    ...whole,
    async *read(collection) {
      yield* whole.read(collection);
      if (abort) abort();
      else if (collection === 'crowd') throw new Error('the file ends too early');
    },
  };
};
