/** Proves that adapters in two processes, over one store, serve the same and follow one another. */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import type { AdapterUnderTest } from './adapter-under-test.js';
import { eventually, sameItems, sameValue } from './expect.js';
import {
  anotherDataset,
  FIRST,
  FIRST_CREATED,
  items,
  itemsOf,
  manifestOf,
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
  itUnless,
  makeCurrent,
  needsStore,
  standsAlone,
  withInstance,
  withSnapshot,
} from './instance.js';
import { serves } from './instances.js';
import type { Commands, Request, Response } from './process-main.js';

const MAIN = fileURLToPath(new URL('./process-main.js', import.meta.url));
/** 45 minutes off the hour, and on the other side of the date line from most who keep local times. */
const TIME_ZONE = 'Pacific/Chatham';
const START_MS = 20_000;

interface OtherProcess extends Commands {
  /** Ends it by SIGKILL, as a crash or the system would. */
  kill(): Promise<void>;
}

const startProcess = (file: string, name: string): OtherProcess => {
  const child: ChildProcess = fork(MAIN, [file, name], {
    env: { ...process.env, TZ: TIME_ZONE },
    // Keeps dates, and fields that are undefined.
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
    else reject(new Error(`In another process: ${error}`));
  });
  const exited = once(child, 'exit');
  void exited.then(([code, signal]) => {
    for (const { reject } of waiting.values()) {
      reject(new Error(`The other process has ended (${signal ?? code}), which imports ${file} again.\n${complaints}`));
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

/** @param file that calls `describeAdapter`, where mocha knows it */
export const describeOtherProcess = (target: AdapterUnderTest, file: string | undefined): void => {
  const { publish, follows } = target.capabilities;
  const alone =
    standsAlone(target) ||
    (target.noOtherProcess ?? false) ||
    (!file && 'mocha does not tell in which file describeAdapter() was called, for another process to import');
  const silent = alone || (follows === false && 'the adapter declares that it does not follow');
  const publishes = alone || (!publish && 'the adapter does not declare the capability "publish"');

  describe('an adapter in another process, over the same store', function () {
    this.timeout(60_000);
    let other: OtherProcess | undefined;
    after(() => other?.kill());

    /** With an adapter here and, opened after it, one in the other process. */
    const withBoth = (test: (instance: Instance, other: OtherProcess) => Promise<void>) =>
      withInstance(target, async (instance, context) => {
        await needsStore(target, instance, context);
        other ??= startProcess(file!, target.name);
        const starting = delay(START_MS, 'late', { ref: false });
        const started = await Promise.race([other.open(instance.folder), starting]);
        if (started === 'late') throw new Error(`The other process, which imports ${file}, does not answer.`);
        await test(instance, other);
        await other.close();
      });

    const contentOf = (version: string, created: string) => ({
      version,
      publishedAt: new Date(created),
      manifest: manifestOf(version, created),
      items: version === FIRST ? rows['items']! : itemsOf(version),
    });
    const isServed = async (version: string, created: string): Promise<void> =>
      sameValue(await other!.read(), contentOf(version, created), 'the other process to serve what was published');

    itUnless(
      alone,
      'finds what was published, the whole of it, whatever its time zone',
      withBoth(() => isServed(FIRST, FIRST_CREATED)),
    );

    itUnless(
      silent || cannotChange(target),
      'notices what is published here',
      withBoth(async (instance, { read }) => {
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
      }),
    );

    itUnless(
      publishes || silent,
      'publishes, and is noticed here by all who are open, what they hold staying as it is',
      withBoth(async (instance, { publish }) => {
        await withSnapshot(instance, async (held) => {
          const before = instance.changes.length;
          await publish(SECOND, SECOND_CREATED);
          await isCurrent(instance, SECOND);
          await serves(instance, SECOND, SECOND_CREATED);
          await eventually('changed() is called', () => instance.changes.slice(before).includes(SECOND), 2000);
          sameItems(await find(held, items), rows['items']!);
        });
      }),
    );

    itUnless(
      publishes,
      'publishes, and is found by those who open afterwards',
      withBoth(async (instance, { publish }) => {
        await publish(SECOND, SECOND_CREATED);
        await serves(await instance.another(), SECOND, SECOND_CREATED);
      }),
    );

    itUnless(
      publishes,
      'that is killed while it publishes leaves what was current',
      withInstance(target, async (instance, context) => {
        await needsStore(target, instance, context);
        const dying = startProcess(file!, target.name);
        try {
          await dying.open(instance.folder);
          await dying.beginToPublish(SECOND, SECOND_CREATED);
        } finally {
          await dying.kill();
        }
        await serves(instance, FIRST, FIRST_CREATED);
        await serves(await instance.another(), FIRST, FIRST_CREATED);
      }),
    );
  });
};
