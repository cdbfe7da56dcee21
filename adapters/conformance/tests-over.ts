/** Defines tests that each have their own store. */
import { readdir } from 'node:fs/promises';
import type { AdapterUnderTest } from './adapter-under-test.js';
import { datasetOf } from './fixture.js';
import { type Instance, startEmpty, startInstance } from './instance.js';
import { itUnless, type Obstacle, skip, standsAlone, withoutBreak, withoutEmpty } from './obstacles.js';
import { patiently } from './time-limits.js';

type Test = (instance: Instance, running: Mocha.Context) => Promise<void>;

const over = (begin: () => Promise<Instance>, test: Test) =>
  async function (this: Mocha.Context) {
    const instance = await begin();
    try {
      await test(instance, this);
    } finally {
      await instance.stop();
    }
  };

/** Returns a function that defines tests. Each test gets its own instance. With an obstacle, the tests are skipped. */
export const testsOver =
  (target: AdapterUnderTest, obstacle: Obstacle = false, dataset = () => datasetOf()) =>
  (title: string, test: Test): void =>
    itUnless(
      obstacle,
      title,
      over(() => startInstance(target, dataset()), test),
    );

/** Works like `testsOver`, but each test gets an unopened adapter with an empty store. */
export const testsOfEmpty =
  (target: AdapterUnderTest, obstacle: Obstacle = false) =>
  (title: string, test: Test): void =>
    itUnless(
      obstacle || withoutEmpty(target),
      title,
      over(() => startEmpty(target), test),
    );

/** Works like `testsOver`, for tests that make the backend unreachable. */
export const testsOfOutages =
  (target: AdapterUnderTest) =>
  (title: string, test: Test): void =>
    testsOver(target, withoutBreak(target))(title, (...given) => patiently(() => test(...given)));

/** Returns true if a second adapter might use a different store. */
export const mightStandAlone = async (target: AdapterUnderTest, { folder }: Instance): Promise<Obstacle> =>
  standsAlone(target) ||
  (target.capabilities.durable === undefined &&
    (await readdir(folder)).length === 0 &&
    'the adapter does not declare "durable", and its folder is empty');

/** Works like `testsOver`, for tests of several adapters on one store. Skips the test at run time if necessary. */
export const testsOverStore =
  (target: AdapterUnderTest, dataset = () => datasetOf()) =>
  (obstacle: Obstacle, title: string, test: Test): void =>
    testsOver(
      target,
      obstacle,
      dataset,
    )(title, async (instance, running) => {
      const alone = await mightStandAlone(target, instance);
      if (alone) skip(running, alone);
      await test(instance, running);
    });
