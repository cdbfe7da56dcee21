import { onceEach } from '../../../pages/shared/once.js';

const once = onceEach();
/** @type {Map<string, string>} */
const metros = new Map();

const load = async () => {
  const response = await fetch(new URL('./zip-codes.json', import.meta.url));
  if (!response.ok) throw new Error(`zip-codes.json: ${response.status}`);
  /**
   * The ZIP codes of an area are the first code and the differences between consecutive codes.
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

/** Other searches work without the table, so errors are ignored. @param {string} query */
export const loadZips = async (query) => {
  if (/^\d{5}$/.test(query.trim())) await once('zips', load).catch(() => undefined);
};

/** `loadZips` must be called first. @param {string} query @returns {string | undefined} */
export const metroOfZip = (query) => metros.get(query.trim());
