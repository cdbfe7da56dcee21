/** What a run found: a line for each file, and every mutant that nobody noticed. */
import { formatTable } from '../bench/table.js';
import type { Mutant } from './build.js';
import type { Outcome, Status } from './session.js';

export interface Judged extends Outcome {
  readonly mutant: Mutant;
}

const noticed = ({ status }: Outcome): boolean => status === 'killed' || status === 'timeout';

const percent = (part: number, whole: number): string => (whole === 0 ? '–' : `${((100 * part) / whole).toFixed(1)}%`);

/** Of 0 to 1. */
export const killRate = (judged: readonly Judged[]): number =>
  judged.length === 0 ? 1 : judged.filter(noticed).length / judged.length;

const row = (name: string, all: number, judged: readonly Judged[]): (string | number)[] => {
  const count = (status: Status) => judged.filter((each) => each.status === status).length;
  const killed = judged.filter(noticed).length;
  return [
    name,
    all,
    judged.length,
    killed,
    count('timeout'),
    count('survived'),
    count('uncovered'),
    percent(killed, judged.length),
  ];
};

export const formatReport = (mutants: readonly Mutant[], judged: readonly Judged[]): string => {
  const files = [...new Set(judged.map(({ mutant }) => mutant.file))].sort();
  const rows = files.map((name) => {
    const there = mutants.filter(({ file }) => file === name).length;
    return row(
      name,
      there,
      judged.filter(({ mutant }) => mutant.file === name),
    );
  });
  const table = formatTable({
    title: 'Mutants',
    columns: ['File', 'there are', 'tried', 'killed', 'of these by time', 'survived', 'uncovered', 'share killed'],
    rows: [...rows, row('all', mutants.length, judged)],
  });
  const alive = judged
    .filter((each) => !noticed(each))
    .sort((a, b) => a.mutant.id - b.mutant.id)
    .map(
      ({ mutant: { file, line, operator, original }, status }) =>
        `${file}:${line} ${operator} (${status}): ${original}`,
    );
  return [table, '', ...alive].join('\n');
};
