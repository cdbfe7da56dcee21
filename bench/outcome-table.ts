/** What turns of contenders become: the rows of a table, and a word on whether the load generator could keep up. */
import { type Cell, percent } from './table.js';
import type { Outcome } from './turns.js';

/** @param ratios names whose requests a second the others' are compared with */
export const outcomeColumns = (ratios: readonly string[]): string[] => [
  ...['', 'requests/s', 'spread', ...ratios.map((name) => `x ${name}`)],
  ...['CPU, microseconds', 'CPU of Redis, microseconds', 'core in use', 'core of the load in use'],
];

const ratio = ({ requestsPerSecond }: Outcome, other: Outcome | undefined): number | null =>
  other ? requestsPerSecond / other.requestsPerSecond : null;

/** Of a whole core, where each request takes so many microseconds. */
const share = ({ requestsPerSecond }: Outcome, microseconds: number): number =>
  (requestsPerSecond * microseconds) / 1e6;

const loadShare = (outcome: Outcome): number => share(outcome, outcome.loadCpu + outcome.redisCpu);

export const outcomeRows = (
  outcomes: ReadonlyMap<string, Outcome>,
  ratios: readonly string[],
): readonly (readonly Cell[])[] =>
  [...outcomes].map(([name, outcome]) => [
    ...[name, outcome.requestsPerSecond, percent(outcome.spread)],
    ...ratios.map((other) => ratio(outcome, outcomes.get(other))),
    ...[outcome.cpu, outcome.redisCpu, percent(share(outcome, outcome.cpu)), percent(loadShare(outcome))],
  ]);

/** Who uses less of a core than this waits for something; who shares a core that is used more than this waits for it. */
const SATURATED = 0.95;

/** Says whether the servers were the limit themselves, or the load beside them, which is wrk and Redis on one core. */
export const loadNote = (measured: readonly ReadonlyMap<string, Outcome>[]): string => {
  const outcomes = measured.flatMap((each) => [...each]);
  const namesOf = (which: (outcome: Outcome) => boolean): string =>
    [...new Set(outcomes.filter(([, outcome]) => which(outcome)).map(([name]) => name))].join('; ') || 'nobody';
  const most = percent(Math.max(...outcomes.map(([, outcome]) => loadShare(outcome))));
  const least = percent(SATURATED);
  const limited = namesOf((outcome) => loadShare(outcome) > SATURATED);
  const idle = namesOf((outcome) => share(outcome, outcome.cpu) < SATURATED && loadShare(outcome) <= SATURATED);
  return (
    `wrk and Redis used at most ${most} of their core, and limited, with more than ${least}: ${limited}. Less than ${least} of ` +
    `both cores, since others had the machine or both waited: ${idle}.`
  );
};
