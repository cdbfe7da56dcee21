/** Commands that the tests send to the second process, and the messages that carry them. */
import type { StorageErrorCode } from 'metro-forecast-api/adapter';
import type { Rows } from './fixture.js';

export interface Commands {
  /** Closes the previous adapter, if any, and opens an adapter on the store in `folder`. */
  open(folder: string): Promise<void>;
  /** Closes an adapter while `open()` is running. Resolves with the resources that still keep the process running. */
  openBriefly(folder: string): Promise<readonly string[]>;
  publish(version: string, created: string): Promise<void>;
  publishLarge(version: string, created: string): Promise<void>;
  /**
   * Starts a publication that cannot finish before `leave()` is called. Resolves when the publication is in progress.
   */
  beginToPublish(version: string, created: string): Promise<void>;
  activate(version: string): Promise<void>;
  prune(keep: number): Promise<readonly string[]>;
  list(): Promise<readonly { version: string; publishedAt: Date; current: boolean }[]>;
  /** Describes the version that was current at the given time. Resolves with undefined if there was none. */
  asOf(time: number): Promise<object | undefined>;
  read(): Promise<object | undefined>;
  /**
   * Compares all rows and some random reads of the current version with `content`. Does the same with the version that
   * was current at `time`, if given.
   */
  compare(content: Rows, seed: number, time?: number): Promise<void>;
  close(): Promise<void>;
  /** Closes the adapter. Resolves with the resources that keep the process running. */
  leave(): Promise<readonly string[]>;
}

export const COMMANDS = [
  ...([
    'open',
    'openBriefly',
    'publish',
    'publishLarge',
    'beginToPublish',
    'activate',
    'prune',
    'list',
    'asOf',
    'read',
    'compare',
    'close',
    'leave',
  ] as const),
] satisfies readonly (keyof Commands)[];

export interface Request {
  readonly id: number;
  readonly command: keyof Commands;
  readonly given: readonly unknown[];
}

export interface Response {
  readonly id: number;
  readonly result?: unknown;
  readonly error?: string;
  readonly code?: StorageErrorCode;
}
