import { onceEach } from '../../../../core/pages/shared/once.js';

const once = onceEach();
/** @type {Map<string, string>} */
const metros = new Map();

const load = async () => {
  const response = await fetch(new URL('./zip-codes.json', import.meta.url));
  if (!response.ok) throw new Error(`zip-codes.json: ${response.status}`);
  /**
   * ZIP codes by CBSA code. "76443 26" contains 76443 and 76469: after the first ZIP code, each number is the
   * difference from the previous ZIP code.
   * @type {{ areas: Record<string, string> }}
   */
  const { areas } = await response.json();
  for (const [cbsa, steps] of Object.entries(areas)) {
    let zip = 0;
    for (const step of steps.split(' ')) {
      zip += Number(step);
      metros.set(String(zip).padStart(5, '0'), cbsa);
    }
  }
};

/** Removes the last four digits of a ZIP+4 code, such as 83702-1234. @param {string} query */
const zipIn = (query) => query.trim().replace(/^(\d{5})-\d{4}$/, '$1');

/**
 * Loads the table of ZIP codes if the query looks like a ZIP code. Errors are ignored, because searches by name work
 * without the table.
 * @param {string} query
 */
export const loadZips = async (query) => {
  if (/^\d{5}$/.test(zipIn(query))) await once('zips', load).catch(() => undefined);
};

/** `loadZips` must be called first. @param {string} query @returns {string | undefined} */
export const metroOfZip = (query) => metros.get(zipIn(query));
