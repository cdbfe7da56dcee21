import { getJson, Problem, request } from '../../pages/shared/api.js';
import { matchingOf } from './conditions.js';

/**
 * @typedef {import('./tables.js').Table} Table
 * @typedef {import('./time-figures.js').Row} Row
 * @typedef {{ rows: readonly Row[], next: string | null }} Page `next`: start of the next page, or null
 */

/** The number of rows per page. */
const PAGE = 100;

/** The maximum number of calls per page. With some filters, the API reads many rows and returns few. */
const CALLS = 5;

/** @param {string} target @param {string} parameters */
const withParameters = (target, parameters) => `${target}${target.includes('?') ? '&' : '?'}${parameters}`;

/**
 * @param {string} target @param {string | null} after start of the page, or null for the first page
 * @param {AbortSignal} signal
 * @returns {Promise<Page>}
 */
export const readPage = async (target, after, signal) => {
  /** @type {Row[]} */
  const rows = [];
  let next = after;
  for (let call = 0; call < CALLS && rows.length < PAGE && (call === 0 || next !== null); call += 1) {
    const place = new URLSearchParams({ limit: `${PAGE - rows.length}`, ...(next !== null && { after: next }) });
    const response = await request(withParameters(target, `${place}`), { signal });
    rows.push(...(await response.json()).data);
    const link = /^<\?([^>]+)>; rel="next"/.exec(response.headers.get('Link') ?? '')?.[1];
    next = new URLSearchParams(link).get('after');
  }
  return { rows, next };
};

/** The first rows of a table, which show what its columns contain. @param {Table} table @param {AbortSignal} signal */
export const sampleOf = async ({ name }, signal) => (await readPage(`/${name}`, null, signal)).rows;

/**
 * Returns the totals of the rows that match.
 * @param {Table} table @param {URLSearchParams} parameters @param {AbortSignal} signal
 * @returns {Promise<readonly Row[]>}
 */
export const totalsOf = async ({ name }, parameters, signal) =>
  (await getJson(`/totals/${name}?${parameters}`, { signal })).data;

/**
 * Counts the rows that match.
 * @param {Table} table @param {URLSearchParams} query @param {AbortSignal} signal
 * @returns {Promise<number | undefined>} undefined if the API cannot count so many rows
 */
export const countOf = async (table, query, signal) => {
  try {
    const [total] = await totalsOf(table, matchingOf(table, query), signal);
    return Number(total?.[table.measures['count'] ?? '']);
  } catch (error) {
    if (error instanceof Problem && error.status === 400) return undefined;
    throw error;
  }
};
