/** Tests how adapters report an invalid dataset, and that `publish()` replaces it. */
import type { Dataset } from 'metro-forecast-api/adapter';
import type { AdapterUnderTest } from './adapter-under-test.js';
import { eventually, failsWith, sameList, sameValue } from './expect.js';
import {
  anotherDataset,
  FOURTH,
  FOURTH_CREATED,
  itemsOf,
  rows,
  SECOND,
  SECOND_CREATED,
  THIRD,
  THIRD_CREATED,
} from './fixture.js';
import { changedTo, followMs, hasItems, isCurrent } from './instance.js';
import { serves } from './instances.js';
import { isExclusive, isUnnoticed, standsAlone, withoutDamage } from './obstacles.js';
import { testsOverStore } from './tests-over.js';

interface Failure {
  /** The collection whose rows end too early. Undefined if the signal is aborted before the call. */
  readonly at?: string;
  readonly aborts: boolean;
}

const FAILURES: readonly Failure[] = [
  { aborts: true },
  ...['items', 'crowd'].flatMap((at) => [true, false].map((aborts) => ({ at, aborts }))),
];

const failing = ({ at, aborts }: Failure): { readonly dataset: Dataset; readonly signal: AbortSignal } => {
  const controller = new AbortController();
  if (at === undefined) controller.abort();
  const whole = anotherDataset();
  const read = async function* (name: string) {
    yield* whole.read(name);
    if (name !== at) return;
    if (!aborts) throw new Error('the file ends too early');
    controller.abort();
  };
  return { dataset: { ...whole, read }, signal: controller.signal };
};

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
      'is unchanged after publications that fail, and onRepair() is called only for the one that replaces it',
      async (instance) => {
        const isShared = !target.capabilities.exclusive;
        if (!isShared) await instance.adapter.close();
        await target.damage!(instance.adapter);
        const { adapter } = await instance.make();
        await failsWith('invalid_dataset', () => adapter.open());
        const reasons: string[] = [];
        const onRepair = (reason: string) => void reasons.push(reason);
        for (const failure of FAILURES) {
          const { dataset, signal } = failing(failure);
          await failsWith(failure.aborts ? 'aborted' : 'invalid_dataset', () =>
            adapter.publish!(dataset, { signal, onRepair }),
          );
          sameList(reasons, [], 'onRepair() not to be called, since nothing was replaced');
          await failsWith('unavailable', () => adapter.snapshot());
          const next = isShared ? (await instance.make()).adapter : adapter;
          await failsWith('invalid_dataset', () => next.open());
          if (isShared) await next.close();
        }
        for (const [version, created] of [
          [SECOND, SECOND_CREATED],
          [THIRD, THIRD_CREATED],
        ] as const) {
          await adapter.publish!(anotherDataset(version, created), { onRepair });
          sameValue(reasons.length, 1, 'onRepair() to be called once');
          await serves({ adapter }, version, created);
        }
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
        const [before, beforeSecond] = [last.changes.length, second.changes.length];
        await second.adapter.publish!(anotherDataset(THIRD, THIRD_CREATED));
        await changedTo(target, [THIRD], last, before);
        await first.adapter.publish!(anotherDataset(FOURTH, FOURTH_CREATED));
        await changedTo(target, [THIRD, FOURTH], second, beforeSecond);
      },
    );

    test(
      obstacle || isExclusive(target) || isUnnoticed(target),
      'is reported by open adapters, which serve the previous rows until it is replaced',
      async (instance) => {
        const { adapter } = instance;
        const other = await instance.another();
        let served = rows['items']!;
        // The adapter replaces the invalid dataset first, and another adapter the next one.
        for (const [publisher, version, created] of [
          [adapter, SECOND, SECOND_CREATED],
          [other.adapter, THIRD, THIRD_CREATED],
        ] as const) {
          await target.damage!(adapter);
          const isReported = () => [instance, other].every((each) => typeof each.problems.at(-1) === 'string');
          await eventually('problem() is called with a message', isReported, followMs(target));
          await hasItems(instance, served);
          await publisher.publish!(anotherDataset(version, created));
          await isCurrent(target, instance, version);
          served = itemsOf(version);
          await hasItems(instance, served);
          const isResolved = () => [instance, other].every((each) => each.problems.at(-1) === undefined);
          await eventually('problem() is called without a message', isResolved, followMs(target));
        }
      },
    );
  });
};
