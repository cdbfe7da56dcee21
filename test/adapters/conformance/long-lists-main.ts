/**
 * Runs the suite on two adapters that return wrong rows in long lists. A failed comparison of long lists can exhaust
 * the memory, so the suite runs in a separate process. The argument is a memory limit in MB. A worker thread kills the
 * process above this limit. Prints the failed tests and the peak memory as JSON.
 */
import { Worker } from 'node:worker_threads';
import { targetOf } from './breakable.js';
import { finding } from './faults/breaking.js';
import { runSuite } from './run-suite.js';

const WATCH_MS = 20;
const watch = ([limitBytes, everyMs]: readonly [number, number]): unknown =>
  setInterval(() => process.memoryUsage.rss() > limitBytes && process.kill(process.pid, 'SIGKILL'), everyMs);
const limits = JSON.stringify([Number(process.argv[2]) * 2 ** 20, WATCH_MS]);
new Worker(`(${watch})(${limits})`, { eval: true }).unref();

const failures = async (name: string, fault: ReturnType<typeof finding>): Promise<[string, string][]> => {
  const { failed } = await runSuite(targetOf(name, fault));
  return [...failed].map(([title, { message }]) => [title, message]);
};

const isLong = ({ length }: readonly unknown[]): boolean => length > 1000;
const losing = await failures(
  'loses one row in three of a long list',
  finding((found) => (isLong(found) ? found.filter((_, i) => i % 3 !== 2) : found)),
);
const crowd = Array.from({ length: 50_000 }, (_, i) => ({ id: `x${i}` }));
const inventing = await failures(
  'returns a long list for every find',
  finding(() => crowd),
);
console.log(JSON.stringify({ losing, inventing, maxMb: Math.round(process.resourceUsage().maxRSS / 1024) }));
