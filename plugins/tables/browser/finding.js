import { counted, list } from '../../pages/shared/format.js';
import { inSentence, words } from './cells.js';
import { newestOf } from './rows.js';

/** @import { Column, Table } from './tables.js' */

const MOST_COLUMNS = 5;

/** @param {Table} table */
export const contentOf = ({ columns, key }) => {
  const labelOf = (/** @type {string} */ name) =>
    inSentence(columns.find((column) => column.name === name)?.label ?? name);
  const others = columns.filter(({ name }) => !key.includes(name)).map(({ name }) => labelOf(name));
  const more = others.length - MOST_COLUMNS;
  const named = more > 1 ? [...others.slice(0, MOST_COLUMNS), `${more} more columns`] : others;
  return `One row for each ${list(key.map(labelOf))}${named.length > 0 ? `, with ${list(named)}` : ''}.`;
};

/**
 * Returns the title. Omits the number of rows if the API cannot count them.
 * @param {Table} table @param {Column | undefined} time a column with dates or years
 * @param {Promise<number>} total number of all rows @param {AbortSignal} signal
 */
export const findingOf = async (table, time, total, signal) => {
  const [count, newest] = await Promise.all([
    total.catch(() => undefined),
    time && newestOf(table, time, signal).catch(() => undefined),
  ]);
  const rows = count === undefined ? '' : `: ${counted(count, 'row')}`;
  const upTo = newest === undefined ? '' : `${rows === '' ? ':' : ','} up to ${newest}`;
  return `${words(table.name)}${rows}${upTo}`;
};
