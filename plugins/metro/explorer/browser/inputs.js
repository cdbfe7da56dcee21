/** Labels of the model's inputs. */
import { points } from '../../../pages/shared/format.js';

/** @type {Readonly<Record<string, string>>} */
const LABELS = {
  intercept: 'the intercept',
  growth_4q: 'own growth over a year',
  neighbour_growth_1q: 'growth of the neighbours',
  growth_20q: 'own growth over five years',
  new_home_sales: 'new home sales',
};

/** @param {string} input */
export const inputLabel = (input) => LABELS[input] ?? input.replaceAll('_', ' ');

/**
 * Returns a text such as "+1.50 pp of +1.60 pp from new home sales".
 * @param {{ driver: string | null, driver_pp: number | null, delta_pp: number }} mover
 */
export const mainDriver = ({ driver, driver_pp, delta_pp }) =>
  driver === null ? '–' : `${points(driver_pp)} of ${points(delta_pp)} from ${inputLabel(driver)}`;
