/** Tests how adapters report an invalid dataset, and that `publish()` replaces it. */
import type { AdapterUnderTest } from './adapter-under-test.js';
import { eventually, failsWith, sameValue } from './expect.js';
import { anotherDataset, itemsOf, rows, SECOND, SECOND_CREATED, THIRD, THIRD_CREATED } from './fixture.js';
import { changedTo, followMs, hasItems } from './instance.js';
import { serves } from './instances.js';
import { isExclusive, isUnnoticed, standsAlone, withoutDamage } from './obstacles.js';
import { testsOverStore } from './tests-over.js';

export const describeRepair = (target: AdapterUnderTest): void => {
  const test = testsOverStore(target);
  const obstacle = withoutDamage(target);

  describe('an invalid dataset in the store', () => {
    test(
      obstacle || standsAlone(target),
      'makes open() reject with invalid_dataset, and publish() replaces it and calls onRepair() once',
      async (instance) => {
        if (target.capabilities.exclusive) await instance.adapter.close();
        await target.damage!(instance.adapter);
        const other = await instance.make();
        await failsWith('invalid_dataset', () => other.adapter.open());
        await failsWith('unavailable', () => other.adapter.snapshot());
        const reasons: string[] = [];
        await other.adapter.publish!(anotherDataset(), { onRepair: (reason) => void reasons.push(reason) });
        sameValue(reasons.length, 1, 'one call of onRepair()');
        sameValue(typeof reasons[0] === 'string' && reasons[0] !== '', true, 'onRepair() to receive a reason');
        await serves(other, SECOND, SECOND_CREATED);
        await other.adapter.close();
        await serves(await instance.another(), SECOND, SECOND_CREATED);
      },
    );

    test(
      obstacle || standsAlone(target),
      'makes open() reject only until another adapter has replaced it',
      async (instance) => {
        if (target.capabilities.exclusive) await instance.adapter.close();
        await target.damage!(instance.adapter);
        const [first, second] = [await instance.make(), await instance.make()];
        for (const _ of [1, 2]) await failsWith('invalid_dataset', () => first.adapter.open());
        if (target.capabilities.exclusive) await first.adapter.close();
        await failsWith('invalid_dataset', () => second.adapter.open());
        await second.adapter.publish!(anotherDataset());
        const last = target.capabilities.exclusive ? second : first;
        await last.adapter.open();
        await serves(last, SECOND, SECOND_CREATED);
        if (isUnnoticed(target)) return;
        const before = last.changes.length;
        await second.adapter.publish!(anotherDataset(THIRD, THIRD_CREATED));
        await changedTo(target, [THIRD], last, before);
      },
    );

    test(
      obstacle || isExclusive(target) || isUnnoticed(target),
      'is reported by open adapters, which serve the previous rows until it is replaced',
      async (instance) => {
        const { adapter, problems } = instance;
        await target.damage!(adapter);
        const isReported = () => typeof problems.at(-1) === 'string';
        await eventually('problem() is called with a message', isReported, followMs(target));
        await hasItems(instance, rows['items']!);
        await adapter.publish!(anotherDataset());
        await hasItems(instance, itemsOf(SECOND));
        const isResolved = () => problems.at(-1) === undefined;
        await eventually('problem() is called without a message', isResolved, followMs(target));
      },
    );
  });
};
