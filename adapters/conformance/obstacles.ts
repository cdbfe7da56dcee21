import type { AdapterUnderTest } from './adapter-under-test.js';

/** The reason for skipping a test, or false to run the test. */
export type Obstacle = string | false;

/** Defines a test. If there is an obstacle, the test is skipped, and its title contains the reason. */
export const itUnless = (obstacle: Obstacle, title: string, test: Mocha.AsyncFunc): void => {
  if (obstacle) it.skip(`${title} (skipped: ${obstacle})`);
  else it(title, test);
};

/** Skips the running test, and adds the reason to its title. */
export function skip(running: Mocha.Context, reason: string): never {
  running.runnable().title += ` (skipped: ${reason})`;
  return running.skip();
}

export const without = (
  { capabilities }: AdapterUnderTest,
  capability: 'publish' | 'versions' | 'audit' | 'json' | 'totals' | 'search',
): Obstacle => !capabilities[capability] && `the adapter does not declare the capability "${capability}"`;

export const withoutEmpty = ({ createEmpty }: AdapterUnderTest): Obstacle => !createEmpty && 'createEmpty() is missing';

export const withoutBreak = ({ breakBackend, repairBackend }: AdapterUnderTest): Obstacle =>
  !(breakBackend && repairBackend) && 'breakBackend() and repairBackend() are missing';

export const withoutDamage = (target: AdapterUnderTest): Obstacle =>
  without(target, 'publish') || (!target.damage && 'damage() is missing');

/** Returns why tests that replace the dataset cannot run, or false if they can. */
export const cannotChange = ({ capabilities, replace }: AdapterUnderTest): Obstacle =>
  !capabilities.publish && !replace && 'the adapter does not publish, and replace() is missing';

/** Returns why tests that open the store with a second adapter cannot run, or false if they can. */
export const standsAlone = (target: AdapterUnderTest): Obstacle =>
  (target.capabilities.durable === false && 'the adapter declares that it is not durable') || withoutEmpty(target);

/** Returns why tests with two adapters on the same store at the same time cannot run, or false if they can. */
export const isExclusive = (target: AdapterUnderTest): Obstacle =>
  standsAlone(target) ||
  ((target.capabilities.exclusive ?? false) && 'the adapter declares that its store is exclusive');

export const isUnnoticed = (target: AdapterUnderTest): Obstacle =>
  isExclusive(target) ||
  (target.capabilities.follows === false && 'the adapter declares that it does not follow other adapters');

/**
 * Returns why tests with a second process cannot run, or false if they can.
 * @param file the path of the test file, if known
 */
export const withoutProcess = (target: AdapterUnderTest, file: string | undefined): Obstacle =>
  withoutEmpty(target) ||
  (target.noOtherProcess ?? false) ||
  (!file && 'mocha does not report the file that calls describeAdapter(), which the other process imports');
