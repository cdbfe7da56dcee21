/**
 * Tests that the files of a store are valid at each moment of a change, because a crash can happen at any time.
 */
import assert from 'node:assert/strict';
import { cpSync, readdirSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { AdapterUnderTest } from './adapter-under-test.js';
import { sameList, sameValue } from './expect.js';
import {
  anotherDataset,
  collections,
  FIRST,
  FOURTH_CREATED,
  itemsIn,
  itemsOf,
  largeRows,
  rows,
  SECOND,
  SECOND_CREATED,
  THIRD,
  THIRD_CREATED,
} from './fixture.js';
import {
  hasVersion,
  type Instance,
  makeIn,
  namesOf,
  type Opened,
  publicationTime,
  publishTwo,
  readsItems,
  readsRows,
  versionAsOf,
  versionOf,
  withSnapshot,
} from './instance.js';
import { isExclusive, skip, without } from './obstacles.js';
import type { OtherProcess, Processes } from './start-process.js';
import { testsOverStore } from './tests-over.js';
import { patiently } from './time-limits.js';

/** Time to wait after SIGSTOP until the process has stopped writing, in milliseconds. */
const SUSPEND_MS = 2;
/**
 * During the first milliseconds, the writer runs for 1 ms between two copies. After that, each run is as long as the
 * suspension before it, so that slow stores finish.
 */
const SLOW_MS = 5000;
/**
 * Number of copies to check. The last copies are checked, because a store switches versions at the end of a
 * publication.
 */
const CHECKED = 12;

/**
 * After this time in milliseconds, the remaining copies are checked without changing them. A change can take long,
 * because it can wait for a lock.
 */
const CHANGE_MS = 5000;
const AFTER = 'after-crash';
const FAR = '9999-12-31T00:00:00Z';

interface Changes {
  work(writer: OtherProcess): Promise<unknown>;
  /** Checks a store that was copied at any moment of the changes. */
  check(opened: Opened): Promise<void>;
  readonly versions: readonly string[];
}

const pause = new Int32Array(new SharedArrayBuffer(4));

const stateOf = (folder: string): string =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .map((name) => {
      const { size, mtimeMs, ino } = statSync(join(folder, name));
      return `${name} ${size} ${mtimeMs} ${ino}`;
    })
    .join('\n');

/** Copies the folder each time its files have changed, until `work` settles. Adds the names of the copies to `copies`. */
const copyDuring = async (
  work: Promise<unknown>,
  folder: string,
  writer: OtherProcess,
  copies: string[],
): Promise<void> => {
  let isDone = false;
  const settled = Promise.allSettled([work]).then(() => {
    isDone = true;
  });
  const start = performance.now();
  // The writer is suspended while its files are listed and copied. Otherwise, it could delete a listed file.
  for (let last = '', runMs = 1; !isDone; await delay(runMs)) {
    const suspended = performance.now();
    writer.suspend();
    Atomics.wait(pause, 0, 0, SUSPEND_MS);
    try {
      const state = stateOf(folder);
      if (state === last) continue;
      last = state;
      const copy = `${folder}.${copies.length}`;
      copies.push(copy);
      cpSync(folder, copy, { recursive: true });
      if (copies.length > CHECKED) rmSync(copies[copies.length - CHECKED - 1]!, { recursive: true });
    } finally {
      writer.resume();
      const now = performance.now();
      runMs = now - start < SLOW_MS ? 1 : now - suspended;
    }
  }
  await settled;
};

export const describeCrashes = (target: AdapterUnderTest, processes: Processes): void => {
  const obstacle =
    isExclusive(target) ||
    processes.obstacle ||
    without(target, 'publish') ||
    (process.platform === 'win32' && 'Windows cannot suspend processes');

  const inCopy = async (folder: string, check: (opened: Opened) => Promise<void>): Promise<void> => {
    const opened = await makeIn(folder, collections, (context) => target.createEmpty!(context));
    try {
      await opened.adapter.open();
      await check(opened);
    } finally {
      await opened.adapter.close().catch(() => {});
    }
  };

  const isWhole = (opened: Opened): Promise<void> =>
    withSnapshot(opened, async (snapshot) => {
      assert([FIRST, SECOND].includes(snapshot.version), `the version ${snapshot.version} was published`);
      const expected = snapshot.version === FIRST ? rows : largeRows();
      await readsRows(snapshot, expected, `version ${snapshot.version} after a crash`);
      if (!opened.adapter.versions) return;
      const names = snapshot.version === FIRST ? [FIRST] : [SECOND, FIRST];
      sameList(await namesOf(opened), names, 'list() after a crash to match the current version');
    });

  const areListedWhole = async ({ adapter }: Opened): Promise<void> => {
    const listed = await adapter.versions!.list();
    const current = listed.filter((each) => each.current).map(({ version }) => version);
    sameList(current, [versionOf(adapter)], 'list() after a crash to match the current version');
    sameValue(await versionAsOf({ adapter }, FAR), current[0], 'asOf() after a crash to match the current version');
    for (const { version, publishedAt } of listed) {
      const snapshot = await adapter.versions!.asOf(publishedAt);
      sameValue(snapshot?.version, version, 'asOf() at the publication of a listed version, after a crash');
      await readsItems(snapshot!, itemsIn(version));
      snapshot!.release();
    }
  };

  /** Asserts that the store is not locked, and that the interrupted change left nothing behind. */
  const canChange = async (opened: Opened): Promise<void> => {
    const { adapter } = opened;
    await adapter.publish!(anotherDataset(AFTER, FOURTH_CREATED));
    await withSnapshot(opened, (snapshot) => readsItems(snapshot, itemsOf(AFTER)));
    if (!adapter.versions) return;
    const [, previous] = await namesOf(opened);
    await adapter.versions.activate(previous!);
    await adapter.versions.prune(0);
    sameValue((await namesOf(opened)).includes(AFTER), false, 'prune(0) to delete the version after the crash');
  };

  /**
   * Copies the files of the store while another process does `work`, and checks the copies. The process is killed
   * directly after `work`, which must leave `versions` in the store, newest first, and SECOND as the current version.
   */
  const isRightDuring = async (
    { adapter, folder }: Instance,
    running: Mocha.Context,
    { work, check, versions }: Changes,
  ): Promise<void> => {
    await adapter.close();
    if (readdirSync(folder).length === 0) skip(running, 'the store has no files in its folder');
    const writer = processes.running();
    const copies: string[] = [];
    try {
      await writer.open(folder);
      const working = work(writer);
      await copyDuring(working, folder, writer, copies);
      await working;
      // The copies can contain locks of the process. Killing the process makes these locks stale.
      await writer.kill();
      // Calls can wait until these locks expire.
      await patiently(async () => {
        const end = performance.now() + CHANGE_MS;
        for (const copy of copies.slice(-CHECKED)) {
          await inCopy(copy, async (opened) => {
            await check(opened);
            if (performance.now() < end) await canChange(opened);
          });
        }
        await inCopy(folder, async (opened) => {
          hasVersion(opened, SECOND);
          await check(opened);
          if (opened.adapter.versions)
            sameList(await namesOf(opened), versions, 'list() after the process that made the changes was killed');
          await canChange(opened);
        });
      });
    } finally {
      await writer.kill();
      for (const copy of copies) rmSync(copy, { recursive: true, force: true });
    }
  };

  describe('an adapter in another process, over the same store', () => {
    testsOverStore(target)(
      obstacle,
      'that is killed while it stores a version leaves the previous version or the whole new one',
      (instance, running) =>
        isRightDuring(instance, running, {
          work: (writer) => writer.publishLarge(SECOND, SECOND_CREATED),
          check: isWhole,
          versions: [SECOND, FIRST],
        }),
    );

    testsOverStore(target)(
      obstacle || without(target, 'versions'),
      'that is killed while it activates or deletes versions leaves only whole versions',
      async (instance, running) => {
        await publishTwo(instance);
        const moves: [number, string][] = [
          [Date.parse(SECOND_CREATED), SECOND],
          [Date.parse(THIRD_CREATED), THIRD],
        ];
        for (const version of [SECOND, THIRD]) {
          await instance.adapter.versions!.activate(version);
          moves.push([publicationTime(instance), version]);
        }
        const work = async (writer: OtherProcess) => {
          await writer.prune(2);
          await writer.activate(SECOND);
        };
        const check = async (opened: Opened) => {
          await areListedWhole(opened);
          for (const [time, version] of moves) {
            const found = await versionAsOf(opened, time);
            sameValue(found, version, 'asOf() after a crash to return what was current at each time');
          }
        };
        await isRightDuring(instance, running, { work, check, versions: [THIRD, SECOND] });
      },
    );
  });
};
