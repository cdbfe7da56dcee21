import { getJson } from '../../../../core/pages/shared/api.js';
import { notesOf } from './catalog.js';
import { overdue } from './freshness.js';

/** @param {readonly string[]} series @param {AbortSignal} signal */
const ageOf = async (series, signal) => {
  if (series.length === 0) return '';
  const { sources, generated_at } = await getJson('/status', { key: false, signal });
  return overdue(sources, generated_at, series);
};

/** @type {import('../../../../core/pages/data-views/router.js').About} */
export const aboutSeries = async (series, signal) => {
  const [notes, late] = await Promise.all([notesOf(series, signal), ageOf(series, signal).catch(() => '')]);
  return { notes, late };
};
