/** Tests adapters in two processes that use the same store. */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import type { AdapterUnderTest } from './adapter-under-test.js';
import { eventually, sameItems, sameValue } from './expect.js';
import {
  aboutDataset,
  anotherDataset,
  FIRST,
  FIRST_CREATED,
  items,
  itemsIn,
  rows,
  SECOND,
  SECOND_CREATED,
} from './fixture.js';
import {
  cannotChange,
  FOLLOW_MS,
  find,
  type Instance,
  isCurrent,
  isUnnoticed,
  makeCurrent,
  type Obstacle,
  standsAlone,
  testsOverStore,
  without,
  withSnapshot,
} from './instance.js';
import { serves } from './instances.js';
import type { Commands, Request, Response } from './process-main.js';

const MAIN = fileURLToPath(new URL('./process-main.js', import.meta.url));
/** A time zone with an unusual offset, UTC+12:45 or +13:45 in summer, so that tests detect local times in a store. */
const TIME_ZONE = 'Pacific/Chatham';
const START_MS = 20_000;

interface OtherProcess extends Commands {
  /** Ends the process with SIGKILL, like a crash. */
  kill(): Promise<void>;
}

const startProcess = (file: string, name: string): OtherProcess => {
  const child: ChildProcess = fork(MAIN, [file, name], {
    env: { ...process.env, TZ: TIME_ZONE },
    // Unlike JSON, this serialization keeps dates and undefined fields.
    serialization: 'advanced',
    stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
  });
  let complaints = '';
  child.stderr!.setEncoding('utf8').on('data', (text: string) => {
    complaints += text;
  });
  const waiting = new Map<number, PromiseWithResolvers>();
  child.on('message', ({ id, result, error }: Response) => {
    const { resolve, reject } = waiting.get(id)!;
    waiting.delete(id);
    if (error === undefined) resolve(result);
    else reject(new Error(`In the other process: ${error}`));
  });
  const exited = once(child, 'exit');
  void exited.then(([code, signal]) => {
    for (const { reject } of waiting.values()) {
      reject(new Error(`The other process, which imports ${file}, ended with ${signal ?? code}.\n${complaints}`));
    }
  });
  let last = 0;
  const call = (command: keyof Commands, ...given: string[]): Promise<never> =>
    new Promise((resolve, reject) => {
      const id = ++last;
      waiting.set(id, { resolve: resolve as (result: unknown) => void, reject });
      child.send({ id, command, given } satisfies Request, (error) => error && reject(error));
    });
  return {
    open: (folder) => call('open', folder),
    publish: (version, created) => call('publish', version, created),
    beginToPublish: (version, created) => call('beginToPublish', version, created),
    read: () => call('read'),
    close: () => call('close'),
    async kill() {
      child.kill('SIGKILL');
      if (child.exitCode === null && child.signalCode === null) await exited;
    },
  };
};

interface PromiseWithResolvers {
  resolve(result: unknown): void;
  reject(error: Error): void;
}

/** @param file the path of the file that calls `describeAdapter`, if mocha knows it */
export const describeOtherProcess = (target: AdapterUnderTest, file: string | undefined): void => {
  const alone =
    standsAlone(target) ||
    (target.noOtherProcess ?? false) ||
    (!file && 'mocha does not report the file that calls describeAdapter(), which the other process imports');
  const silent = alone || isUnnoticed(target);
  const publishes = alone || without(target, 'publish');

  describe('an adapter in another process, over the same store', function () {
    this.timeout(60_000);
    let other: OtherProcess | undefined;
    after(() => other?.kill());

    const testOverStore = testsOverStore(target);
    /** Defines a test with an adapter in this process and a second one, which is opened later, in the other process. */
    const test = (
      obstacle: Obstacle,
      title: string,
      body: (instance: Instance, other: OtherProcess) => Promise<void>,
    ): void =>
      testOverStore(obstacle, title, async (instance) => {
        other ??= startProcess(file!, target.name);
        const starting = delay(START_MS, 'late', { ref: false });
        const started = await Promise.race([other.open(instance.folder), starting]);
        if (started === 'late') throw new Error(`The other process, which imports ${file}, does not respond.`);
        await body(instance, other);
        await other.close();
      });

    const isServed = async (version: string, created: string): Promise<void> =>
      sameValue(
        await other!.read(),
        { ...aboutDataset(version, created), items: itemsIn(version) },
        'the other process to serve what was published',
      );

    test(alone, 'finds the whole dataset that was published, in any time zone', () => isServed(FIRST, FIRST_CREATED));

    test(silent || cannotChange(target), 'notices a publication of this process', async (instance, { read }) => {
      await makeCurrent(target, instance, anotherDataset());
      let served: { version?: string } | undefined;
      const look = async (): Promise<void> => {
        for (const end = performance.now() + FOLLOW_MS; performance.now() < end; await delay(20)) {
          served = await read();
          if (served?.version === SECOND) return;
        }
      };
      await look();
      sameValue(served?.version, SECOND, `the other process to serve the new version within ${FOLLOW_MS} ms`);
      await isServed(SECOND, SECOND_CREATED);
    });

    test(
      publishes || silent,
      'publishes: open adapters in this process notice it, and their snapshots do not change',
      async (instance, { publish }) => {
        await withSnapshot(instance, async (held) => {
          const before = instance.changes.length;
          await publish(SECOND, SECOND_CREATED);
          await isCurrent(instance, SECOND);
          await serves(instance, SECOND, SECOND_CREATED);
          await eventually('changed() is called', () => instance.changes.slice(before).includes(SECOND), 2000);
          sameItems(await find(held, items), rows['items']!);
        });
      },
    );

    test(publishes, 'publishes: adapters that are opened later find it', async (instance, { publish }) => {
      await publish(SECOND, SECOND_CREATED);
      await serves(await instance.another(), SECOND, SECOND_CREATED);
    });

    testOverStore(publishes, 'that is killed during a publication leaves the current version', async (instance) => {
      const dying = startProcess(file!, target.name);
      try {
        await dying.open(instance.folder);
        await dying.beginToPublish(SECOND, SECOND_CREATED);
      } finally {
        await dying.kill();
      }
      await serves(instance, FIRST, FIRST_CREATED);
      await serves(await instance.another(), FIRST, FIRST_CREATED);
    });
  });
};
