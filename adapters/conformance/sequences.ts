/** Compares generated sequences of steps with the model, and shows the shortest sequence that breaks the contract. */
import type { AdapterUnderTest } from './adapter-under-test.js';
import { endAfter } from './expect.js';
import { followMs, startEmpty } from './instance.js';
import { Run, type World } from './model.js';
import { VARIANTS, VARIANTS_OF_ONE } from './model-at-once.js';
import { isUnnoticed, itUnless, standsAlone, without, withoutEmpty } from './obstacles.js';
import { fc, holds, SEED, WITHOUT_FAST_CHECK } from './property.js';
import type { Processes } from './start-process.js';
import { KINDS, KINDS_WITHOUT_VERSIONS, NAMES, type Step } from './steps.js';
import { patiently } from './time-limits.js';

const RUNS = 120;
const MOST_STEPS = 24;
/** Number of sequences that run at the same time. They mostly wait until an adapter notices a change. */
const SEQUENCES_AT_ONCE = 4;
/** Number of variants that are tested in one store. Each variant makes several changes at the same time. */
const CHANGES = 8;
/** Number of versions in the store before each variant. */
const VERSIONS = 4;
/** Time limit in milliseconds. On a slow store, fewer variants are tested. */
const AT_ONCE_MS = 4000;

export const describeSequences = (target: AdapterUnderTest, processes: Processes): void => {
  const obstacle = WITHOUT_FAST_CHECK || without(target, 'publish') || withoutEmpty(target);
  const versions = target.capabilities.versions;
  const kinds = versions ? KINDS : KINDS_WITHOUT_VERSIONS;
  const isAlone = Boolean(standsAlone(target));
  const isShared = !isUnnoticed(target);

  /**
   * @param lane index of the concurrent sequence; only sequence 0 uses the other process
   */
  const compare = async (lane: number): Promise<void> => {
    let log: readonly string[] = [];
    const isRight = async ([world, steps]: readonly [World, readonly Step[]]): Promise<void> => {
      log = [];
      const instance = await startEmpty(target);
      let run: Run | undefined;
      try {
        await instance.adapter.open();
        const others = isShared ? [await instance.another()] : [];
        const startProcess = isShared && lane === 0 && !processes.obstacle ? processes.running : undefined;
        const reopens = !isAlone;
        const limits = { versions, reopens, followMs: followMs(target), ...(startProcess && { startProcess }) };
        run = new Run(instance, others, limits, world);
        log = run.state.log;
        for (const step of steps) await run.take(step);
        await run.agreesAtEnd();
        await run.end('close');
      } catch (error) {
        await run?.end('kill');
        throw error;
      } finally {
        await instance.stop();
      }
    };
    const { array, boolean, constantFrom, nat, record, tuple } = fc!;
    // Waiting until the other adapters notice a change takes time, so they are compared only after some of the steps.
    const settles = isShared ? boolean() : fc!.constant(true);
    const step = record({ kind: constantFrom(...kinds), by: nat(1), which: nat(11), how: nat(VARIANTS - 1), settles });
    const steps = array(step, { minLength: 1, maxLength: MOST_STEPS, size: 'max' });
    const shown = () => log.map((line, i) => `  ${i + 1}. ${line}`).join('\n');
    await holds(
      tuple(record({ names: nat(27), start: nat(15), reads: nat(1000) }), steps),
      RUNS,
      isRight,
      shown,
      SEED + lane,
    );
  };

  /** @param first index of the first of `CHANGES` variants */
  const compareAtOnce = async (first: number): Promise<void> => {
    const instance = await startEmpty(target);
    try {
      await instance.adapter.open();
      const others = isShared ? [await instance.another()] : [];
      const limits = { versions: true, reopens: false, followMs: followMs(target) };
      const run = new Run(instance, others, limits, { names: 0, start: 0, reads: first });
      const take = (step: Partial<Step>) =>
        run.take({ kind: 'publish', by: 0, which: 0, how: 0, settles: false, ...step });
      for (let how = first; how < first + CHANGES; how++) {
        for (const [which, name] of NAMES[0]!.entries()) {
          if (run.state.versions.length < VERSIONS && !run.state.find(name)) await take({ which });
        }
        if (how % 3 === 0) await take({ kind: 'activate', which: how % VERSIONS });
        await take({ kind: 'at once', by: how % 2, which: how, how, settles: true });
      }
      await run.agreesAtEnd();
    } finally {
      await instance.stop();
    }
  };

  describe('several changes', () => {
    itUnless(
      without(target, 'publish') || without(target, 'versions') || withoutEmpty(target),
      'at the same time have the result of the same changes one after the other',
      async () => {
        const end = endAfter(AT_ONCE_MS);
        const lanes = isShared ? SEQUENCES_AT_ONCE : 1;
        const inLane = async (lane: number) => {
          for (let first = lane * CHANGES; first < VARIANTS; first += lanes * CHANGES) {
            const isByTwo = first % (VARIANTS_OF_ONE * 2) >= VARIANTS_OF_ONE;
            if ((isShared || !isByTwo) && performance.now() < end) await compareAtOnce(first);
          }
        };
        const settled = await Promise.allSettled(Array.from({ length: lanes }, (_, lane) => inLane(lane)));
        const failed = settled.find(({ status }) => status === 'rejected');
        if (failed) throw (failed as PromiseRejectedResult).reason;
      },
    );
  });

  describe('any sequence of publications, activations, deletions and reads', () => {
    itUnless(obstacle, 'has the same result as the model', () =>
      // Changes can wait for the lock of a killed process.
      patiently(async () => {
        const lanes = Array.from({ length: isShared ? SEQUENCES_AT_ONCE : 1 }, (_, lane) => compare(lane));
        const failed = (await Promise.allSettled(lanes)).find(({ status }) => status === 'rejected');
        if (failed) throw (failed as PromiseRejectedResult).reason;
      }),
    );
  });
};
