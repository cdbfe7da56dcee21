/** Tests that an adapter leaves no listeners or timers behind, and does not report problems when there are none. */
import assert from 'node:assert/strict';
import { getEventListeners } from 'node:events';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { AdapterUnderTest } from './adapter-under-test.js';
import { collectGarbage } from './collect-garbage.js';
import { eventually, isEmpty, within } from './expect.js';
import { find, findJson } from './find-rows.js';
import {
  anotherDataset,
  brokenDataset,
  crowd,
  datasetOf,
  FIRST,
  FIRST_CREATED,
  items,
  SECOND_CREATED,
  THIRD,
  THIRD_CREATED,
} from './fixture.js';
import { versionOf, withSnapshot } from './instance.js';
import { itUnless, type Obstacle, without } from './obstacles.js';
import type { OtherProcess, Processes } from './start-process.js';
import { testsOfEmpty, testsOfOutages, testsOver } from './tests-over.js';

const CALLS = 20;
/** Time limit in milliseconds. On a slow store, a test makes fewer calls. */
const MANY_MS = 30_000;
const CLOSE_MS = 10_000;
const OUTAGES = 2;
/** Maximum time until an adapter notices that an outage has begun or ended, in milliseconds. */
const OUTAGE_MS = 20_000;

/** Counts the open resources of this process by kind. Files are counted only on Linux. */
const openResources = async (): Promise<Record<string, number>> => ({
  'open files': (await readdir('/proc/self/fd').catch(() => [])).length,
  'timers and connections': process.getActiveResourcesInfo().length,
  'listeners on the process': process.eventNames().reduce((sum, name) => sum + process.listenerCount(name), 0),
});

export const describeResources = (target: AdapterUnderTest, processes: Processes): void => {
  const publishes = without(target, 'publish');
  const test = testsOver(target);
  const testPublish = testsOver(target, publishes);
  const hasNone = ({ signal }: AbortController, what: string): void => {
    const left = getEventListeners(signal, 'abort').length;
    assert(left < CALLS, `expected no listeners on the signal after ${CALLS} calls of ${what}, found ${left}`);
  };

  describe('a signal', () => {
    test('has no listeners after ping()', async ({ adapter }) => {
      const controller = new AbortController();
      for (let i = 0; i < CALLS; i++) await adapter.ping(controller.signal);
      hasNone(controller, 'ping()');
    });

    test('has no listeners after find() was left early', async (instance) => {
      const controller = new AbortController();
      await withSnapshot(instance, async (snapshot) => {
        for (let i = 0; i < CALLS; i++) {
          for await (const batch of snapshot.find('items', { order: items.key }, controller.signal)) {
            if (batch.length > 0) break;
          }
          await find(snapshot, crowd, {}, controller.signal);
        }
      });
      hasNone(controller, 'find()');
    });

    test('has no listeners after reads that fail', async (instance) => {
      const controller = new AbortController();
      const unknown = { ...items, name: 'no_such' };
      const query = { where: [], by: ['grade'], limit: 9 };
      await withSnapshot(instance, async (snapshot) => {
        for (let i = 0; i < CALLS; i++) {
          await snapshot.get('no_such', ['i01'], controller.signal).catch(() => {});
          await find(snapshot, unknown, {}, controller.signal).catch(() => {});
          await snapshot.getJson?.('no_such', ['i01'], controller.signal).catch(() => {});
          if (snapshot.findJson) await findJson(snapshot, unknown, {}, controller.signal).catch(() => {});
          await snapshot.totals?.('no_such', query, controller.signal).catch(() => {});
        }
      });
      hasNone(controller, 'reads that fail');
    });

    testsOver(target, without(target, 'json'))('has no listeners after getJson() and findJson()', async (instance) => {
      const controller = new AbortController();
      await withSnapshot(instance, async (snapshot) => {
        for (let i = 0; i < CALLS; i++) {
          await snapshot.getJson!('items', [i % 2 ? 'i01' : 'zz'], controller.signal);
          for await (const _ of snapshot.findJson!('items', { order: items.key }, controller.signal)) break;
        }
      });
      hasNone(controller, 'getJson() and findJson()');
    });

    testsOver(target, without(target, 'totals'))('has no listeners after totals()', async (instance) => {
      const controller = new AbortController();
      const query = { where: [], by: ['grade'], limit: 9 };
      await withSnapshot(instance, async (snapshot) => {
        for (let i = 0; i < CALLS; i++) await snapshot.totals!('items', query, controller.signal);
      });
      hasNone(controller, 'totals()');
    });

    testPublish('has no listeners after publish(), whether it succeeds or fails', async ({ adapter }) => {
      const [succeeding, failing, taken] = [new AbortController(), new AbortController(), new AbortController()];
      for (let i = 0; i < CALLS; i++) {
        const created = new Date(Date.UTC(2025, 0, 1 + i)).toISOString();
        await adapter.publish!(datasetOf(`v-${i}`, created, { items: [] }), { signal: succeeding.signal });
        const broken = brokenDataset(new Error('the file ends too early'));
        await adapter.publish!(broken, { signal: failing.signal }).catch(() => {});
        await adapter.publish!(anotherDataset(FIRST), { signal: taken.signal }).catch(() => {});
      }
      hasNone(succeeding, 'publish()');
      hasNone(failing, 'publish() that fails');
      hasNone(taken, 'publish() under an existing name');
    });
  });

  describe('the adapter', () => {
    testsOver(target, publishes)('has no more open files, timers and listeners after many calls', async (instance) => {
      const { adapter } = instance;
      let published = 0;
      const callAll = async () => {
        await adapter.open();
        for (const snapshot of [adapter.snapshot(), await adapter.versions?.asOf(new Date(FIRST_CREATED))]) {
          if (!snapshot) continue;
          await find(snapshot, items);
          await snapshot.get('items', ['i01']);
          snapshot.release();
        }
        await adapter.ping();
        await adapter.versions?.list();
        await adapter.versions?.asOf(new Date(0));
        await adapter.versions?.activate('no-such').catch(() => {});
        await adapter.publish!(brokenDataset(new Error('the file ends too early'))).catch(() => {});
        await adapter.publish!(anotherDataset(versionOf(adapter))).catch(() => {});
        const created = new Date(Date.UTC(2025, 0, ++published)).toISOString();
        await adapter.publish!(datasetOf(`v-${published}`, created));
        await adapter.versions?.activate(FIRST);
        await adapter.versions?.prune(0);
      };
      await callAll();
      const before = await openResources();
      const end = performance.now() + MANY_MS;
      for (let i = 0; i < CALLS && performance.now() < end; i++) await callAll();
      let left: readonly string[] = [];
      // Some stores close files and threads after the call has been completed.
      const isClosed = async () => {
        await adapter.versions?.prune(0);
        // Some drivers close connections only when the garbage collector finds them.
        collectGarbage();
        const added = Object.entries(await openResources()).map(([what, n]) => [what, n - before[what]!] as const);
        left = added.flatMap(([what, n]) => (n < CALLS / 2 ? [] : [`${n} new ${what}`]));
        return left.length === 0;
      };
      await eventually('closed', isClosed, CLOSE_MS / 2).catch(() => {});
      isEmpty(left, `fewer than ${CALLS / 2} new resources of each kind after ${CALLS} calls`);
    });
  });

  describe('problem()', () => {
    testPublish('is not called with a message while the store works', async ({ adapter, problems }) => {
      const before = problems.length;
      await adapter.publish!(brokenDataset(new Error('the file ends too early'))).catch(() => {});
      await adapter.publish!(anotherDataset(FIRST)).catch(() => {});
      await adapter.publish!(anotherDataset());
      await adapter.versions?.activate(FIRST);
      await adapter.versions?.activate('no-such').catch(() => {});
      await adapter.publish!(anotherDataset('aborted'), { signal: AbortSignal.abort() }).catch(() => {});
      await adapter.versions?.prune(1);
      await adapter.publish!(anotherDataset(THIRD, THIRD_CREATED));
      await adapter.ping(AbortSignal.abort()).catch(() => {});
      await adapter.ping();
      await adapter.close();
      isEmpty(
        problems.slice(before).filter((sentence) => sentence !== undefined),
        'no problem to be reported',
      );
      isEmpty(
        problems.slice(-1).filter((sentence) => sentence !== undefined),
        'no problem to be left',
      );
    });

    testsOfEmpty(target, publishes)(
      'is called without a message when an empty store has a dataset',
      async (instance) => {
        const { adapter, problems } = instance;
        await adapter.open();
        isEmpty(
          problems.filter((sentence) => sentence === ''),
          'a problem to have a message',
        );
        await adapter.publish!(anotherDataset('first', SECOND_CREATED));
        await eventually('the problem is resolved', () => problems.at(-1) === undefined, 5000);
      },
    );

    testsOfOutages(target)(
      'is called with a message during an outage, and without one afterwards, even if nothing was published',
      async ({ adapter, problems }) => {
        const isResolved = () => problems.at(-1) === undefined;
        for (let outage = 0; outage < OUTAGES; outage++) {
          await target.breakBackend!(adapter);
          const isReported = async () => {
            await adapter.ping().catch(() => {});
            return !isResolved();
          };
          await eventually('a problem is reported', isReported, OUTAGE_MS);
          await target.repairBackend!(adapter);
          await eventually('the problem is resolved', isResolved, OUTAGE_MS);
        }
      },
    );
  });

  describe('a process', () => {
    const testProcess = (
      obstacle: Obstacle,
      title: string,
      act: (child: OtherProcess, folder: string) => Promise<readonly string[]>,
    ): void =>
      itUnless(processes.obstacle || obstacle, title, async () => {
        const folder = await mkdtemp(join(tmpdir(), 'conformance-'));
        const child = processes.running();
        try {
          const left = await act(child, folder);
          isEmpty(left, 'no timers, connections or files that keep the process running after close()');
        } catch (error) {
          await child.kill();
          throw error;
        } finally {
          await rm(folder, { recursive: true, force: true });
        }
      });
    const leave = (child: OtherProcess) => within('close() resolves', child.leave(), CLOSE_MS);

    testProcess(false, 'exits after its adapter was opened and closed', async (child, folder) => {
      await child.open(folder);
      return leave(child);
    });
    testProcess(false, 'exits after its adapter was closed while it was opening', (child, folder) =>
      within('close() resolves', child.openBriefly(folder), CLOSE_MS),
    );
    testProcess(
      publishes,
      'exits after its adapter has published, read and pinged, and was closed',
      async (child, folder) => {
        await child.open(folder);
        await child.publish(FIRST, SECOND_CREATED);
        // `read()` also calls `ping()`.
        await child.read();
        return leave(child);
      },
    );
    testProcess(publishes, 'exits after its adapter was closed during a publication', async (child, folder) => {
      await child.open(folder);
      await child.beginToPublish(FIRST, SECOND_CREATED);
      return leave(child);
    });
  });
};
