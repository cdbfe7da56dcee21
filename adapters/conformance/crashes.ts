/**
 * Tests that the files of a store are valid at each moment of a publication, because a crash can happen at any time.
 */
import assert from 'node:assert/strict';
import { cpSync, readdirSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { AdapterUnderTest } from './adapter-under-test.js';
import { collections, FIRST, largeRows, rows, SECOND, SECOND_CREATED } from './fixture.js';
import { makeIn, readsRows, withSnapshot } from './instance.js';
import { isExclusive, skip, without } from './obstacles.js';
import type { OtherProcess, Processes } from './start-process.js';
import { testsOverStore } from './tests-over.js';

/** Time to wait after SIGSTOP until the process has stopped writing, in milliseconds. */
const SUSPEND_MS = 2;
/**
 * For this time in milliseconds, the writer runs only 1 ms between two copies. Afterwards, it runs as long as it was
 * suspended, so that slow stores finish.
 */
const SLOW_MS = 5000;
/**
 * Number of copies to check. The last copies are checked, because a store switches versions at the end of a
 * publication.
 */
const CHECKED = 12;

const pause = new Int32Array(new SharedArrayBuffer(4));

const stateOf = (folder: string): string =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .map((name) => {
      const { size, mtimeMs, ino } = statSync(join(folder, name));
      return `${name} ${size} ${mtimeMs} ${ino}`;
    })
    .join('\n');

/** Copies the folder each time its files have changed, until `work` settles. */
const copiesDuring = async (work: Promise<unknown>, folder: string, writer: OtherProcess): Promise<string[]> => {
  const copies: string[] = [];
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
      cpSync(folder, copy, { recursive: true });
      if (copies.push(copy) > CHECKED) rmSync(copies[copies.length - CHECKED - 1]!, { recursive: true });
    } finally {
      writer.resume();
      const now = performance.now();
      runMs = now - start < SLOW_MS ? 1 : now - suspended;
    }
  }
  await settled;
  return copies.slice(-CHECKED);
};

export const describeCrashes = (target: AdapterUnderTest, processes: Processes): void => {
  const obstacle =
    isExclusive(target) ||
    processes.obstacle ||
    without(target, 'publish') ||
    (process.platform === 'win32' && 'Windows cannot suspend processes');

  const isValid = async (folder: string): Promise<void> => {
    const opened = await makeIn(folder, collections, (context) => target.createEmpty!(context));
    try {
      await opened.adapter.open();
      await withSnapshot(opened, async (snapshot) => {
        assert([FIRST, SECOND].includes(snapshot.version), `the version ${snapshot.version} was published`);
        const expected = snapshot.version === FIRST ? rows : largeRows();
        await readsRows(snapshot, expected, `version ${snapshot.version} after a crash`);
      });
    } finally {
      await opened.adapter.close().catch(() => {});
    }
  };

  describe('an adapter in another process, over the same store', () => {
    testsOverStore(target)(
      obstacle,
      'that is killed while it stores a version leaves the previous version or the whole new one',
      async (instance, running) => {
        await instance.adapter.close();
        if (readdirSync(instance.folder).length === 0) skip(running, 'the store has no files in its folder');
        const writer = processes.running();
        let copies: string[] = [];
        try {
          await writer.open(instance.folder);
          copies = await copiesDuring(writer.publishLarge(SECOND, SECOND_CREATED), instance.folder, writer);
          // The copies can contain locks of the process. Killing the process makes these locks stale.
          await writer.kill();
          for (const copy of copies) await isValid(copy);
        } finally {
          await writer.kill();
          for (const copy of copies) rmSync(copy, { recursive: true, force: true });
        }
      },
    );
  });
};
