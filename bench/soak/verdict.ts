import { median } from '../statistics.js';
import { formatTable, type Table } from '../table.js';

export const conclude = (tables: readonly Table[], failures: readonly string[]): void => {
  process.stdout.write(`${tables.map(formatTable).join('\n\n')}\n`);
  for (const failure of failures) process.stderr.write(`FAILED: ${failure}\n`);
  process.stdout.write(failures.length === 0 ? '\nPassed.\n' : `\n${failures.length} failures.\n`);
  if (failures.length > 0) process.exitCode = 1;
};

/**
 * Returns the mean and growth of a series. Growth is the median of the last third minus the median of the middle third.
 * In the first third, caches fill and V8 compiles.
 * @throws if there are fewer than six values
 */
export const growthOf = (values: readonly number[]) => {
  const third = Math.floor(values.length / 3);
  if (third < 2) throw new Error(`Growth needs at least six samples, got ${values.length}.`);
  const [middle, last] = [median(values.slice(third, -third)), median(values.slice(-third))];
  return { mean: (middle + last) / 2, growth: last - middle };
};
