import { points } from '../../../../core/pages/shared/format.js';

/** @typedef {{ inputs?: readonly { name: string, mean_contribution_pp: number }[] | null }} Run */

/** @type {Readonly<Record<string, string>>} */
const LABELS = {
  intercept: 'the intercept',
  growth_4q: 'price growth over the last year',
  neighbour_growth_1q: 'price growth of the neighbours',
  growth_20q: 'price growth over five years',
  new_home_sales: 'new home sales',
};

/** @param {string} input */
export const inputLabel = (input) => LABELS[input] ?? input.replaceAll('_', ' ');

/**
 * Returns how much the average forecast changed between two runs, and which input caused most of the change. `change`
 * and `part` are in percentage points. Undefined if the runs do not have the same inputs.
 * @param {Run | undefined} newest @param {Run | undefined} prior
 * @returns {{ change: number, input: string, part: number } | undefined}
 */
export const commonCause = (newest, prior) => {
  if (!newest?.inputs?.length || newest.inputs.length !== prior?.inputs?.length) return undefined;
  const before = new Map(prior.inputs.map(({ name, mean_contribution_pp }) => [name, mean_contribution_pp]));
  if (!newest.inputs.every(({ name }) => before.has(name))) return undefined;
  const parts = newest.inputs.map(({ name, mean_contribution_pp: now }) => ({
    input: inputLabel(name),
    part: now - (before.get(name) ?? 0),
  }));
  const change = parts.reduce((sum, { part }) => sum + part, 0);
  const [main] = parts.toSorted((a, b) => (change < 0 ? a.part - b.part : b.part - a.part));
  return main && { change, ...main };
};

/**
 * Returns text such as "+1.50 pp from new home sales".
 * @param {{ driver: string | null, driver_pp: number | null }} mover
 */
export const mainDriver = ({ driver, driver_pp }) =>
  driver === null ? '–' : `${points(driver_pp)} from ${inputLabel(driver)}`;
