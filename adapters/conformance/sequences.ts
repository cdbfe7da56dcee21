/** Compares generated sequences of steps with the model, and shows the shortest sequence that breaks the contract. */
import type { AdapterUnderTest } from './adapter-under-test.js';
import { followMs, startEmpty } from './instance.js';
import { Run } from './model.js';
import { isUnnoticed, itUnless, standsAlone, without, withoutEmpty } from './obstacles.js';
import { fc, holds, WITHOUT_FAST_CHECK } from './property.js';
import type { Processes } from './start-process.js';
import { KINDS, type Step } from './steps.js';
import { patiently } from './time-limits.js';

const RUNS = 200;
const MOST_STEPS = 20;

export const describeSequences = (target: AdapterUnderTest, processes: Processes): void => {
  const obstacle =
    WITHOUT_FAST_CHECK || without(target, 'publish') || without(target, 'versions') || withoutEmpty(target);
  const isAlone = Boolean(standsAlone(target));
  const isShared = !isUnnoticed(target);

  describe('any sequence of publications, activations, deletions and reads', () => {
    itUnless(obstacle, 'has the same result as the model', async () => {
      let log: readonly string[] = [];
      const isRight = async (steps: readonly Step[]): Promise<void> => {
        log = [];
        const instance = await startEmpty(target);
        let run: Run | undefined;
        try {
          await instance.adapter.open();
          const others = isShared ? [await instance.another()] : [];
          run = new Run(instance, others, {
            reopens: !isAlone,
            followMs: followMs(target),
            ...(isShared && !processes.obstacle && { startProcess: processes.running }),
          });
          log = run.log;
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
      const { array, constantFrom, nat, record } = fc!;
      const step = record({ kind: constantFrom(...KINDS), by: nat(1), which: nat(11) });
      const steps = array(step, { minLength: 1, maxLength: MOST_STEPS, size: 'max' });
      const shown = () => log.map((line, i) => `  ${i + 1}. ${line}`).join('\n');
      // Changes can wait for the lock of a killed process.
      await patiently(() => holds(steps, RUNS, isRight, shown));
    });
  });
};
