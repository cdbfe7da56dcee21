import { getJson, Problem, request } from '../../../core/pages/shared/api.js';
import { onceEach } from '../../../core/pages/shared/once.js';
import { matchingOf } from './conditions.js';

/** @import { Column, Table } from './tables.js' */
/** @import { Row } from './time-figures.js' */

/** @typedef {{ rows: readonly Row[], next: string | null }} Page */

const ROWS_PER_PAGE = 100;

/** Maximum number of API calls for one page. Without an index, a response can contain fewer rows than requested. */
const MAX_CALLS = 5;

/** @param {string} target @param {string} parameters */
const withParameters = (target, parameters) => `${target}${target.includes('?') ? '&' : '?'}${parameters}`;

/** @param {string} target @param {string | null} after @param {AbortSignal} [signal] @returns {Promise<Page>} */
export const readPage = async (target, after, signal) => {
  /** @type {Row[]} */
  const rows = [];
  let next = after;
  for (let call = 0; call < MAX_CALLS && rows.length < ROWS_PER_PAGE && (call === 0 || next !== null); call += 1) {
    const place = new URLSearchParams({
      limit: `${ROWS_PER_PAGE - rows.length}`,
      ...(next !== null && { after: next }),
    });
    const response = await request(withParameters(target, `${place}`), { signal });
    rows.push(...(await response.json()).data);
    const link = /^<\?([^>]+)>; rel="next"/.exec(response.headers.get('Link') ?? '')?.[1];
    next = new URLSearchParams(link).get('after');
  }
  return { rows, next };
};

let once = onceEach();
addEventListener('keychange', () => {
  once = onceEach();
});

/**
 * Reads a sample of the table once. Leaving the view does not abort the request, because the next view needs the same
 * sample.
 * @param {Table} table
 */
export const sampleOf = ({ name }) => once(name, async () => (await readPage(`/${name}`, null)).rows);

/**
 * @param {Table} table @param {URLSearchParams} parameters @param {AbortSignal} signal
 * @returns {Promise<readonly Row[]>}
 */
export const totalsOf = async ({ name }, parameters, signal) =>
  (await getJson(`/totals/${name}?${parameters}`, { signal })).data;

/** @param {Table} table @param {URLSearchParams} query @param {AbortSignal} signal */
export const countOf = async (table, query, signal) => {
  const [total] = await totalsOf(table, matchingOf(table, query), signal);
  return Number(total?.[table.measures['count'] ?? '']);
};

/**
 * @param {Table} table @param {Column} column @param {AbortSignal} signal
 * @returns {Promise<string | undefined>} the newest date in the column, undefined if the column is empty
 * @throws {Problem} if the table is too large to be sorted by the column
 */
export const newestOf = async ({ name }, { name: column }, signal) => {
  const parameters = new URLSearchParams({ sort: `-${column}`, fields: column, limit: '1' });
  const [row] = (await getJson(`/${name}?${parameters}`, { signal })).data;
  return row?.[column] == null ? undefined : String(row[column]).slice(0, 10);
};

/** @param {unknown} error */
export const rejectionOf = (error) => {
  if (error instanceof Problem && error.status === 400) return error;
  throw error;
};
