import { periodInWords } from '../../../../core/pages/shared/format.js';

/**
 * @typedef {{ id: string, cadence: string, state: string, latest_period: string | null, age_seconds: number | null,
 *   late_after_seconds: number }} Source
 */

const MONTHS = /** @type {const} */ ({ month: 'long', year: 'numeric', timeZone: 'UTC' });

/** @param {readonly Source[]} sources @param {string} generatedAt @param {readonly string[]} ids @returns {string} */
export const overdue = (sources, generatedAt, ids) =>
  sources
    .filter(({ id, state }) => ids.includes(id) && (state === 'late' || state === 'stale'))
    .flatMap(({ id, cadence, latest_period: latest, age_seconds: age, late_after_seconds: late }) => {
      if (latest === null || age === null) return [];
      const due = new Date(Date.parse(generatedAt) + (late - age) * 1000).toLocaleDateString('en-US', MONTHS);
      return [
        `${ids.length > 1 ? `${id}: data` : 'Data'} up to ${periodInWords(latest, cadence)}; an update was due in ${due}.`,
      ];
    })
    .join(' ');
