import { list } from '../../pages/shared/format.js';
import { inSentence } from './cells.js';
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
 * @param {Table} table @param {Column | undefined} time
 * @param {Promise<number>} total @param {AbortSignal} signal
 * @returns {Promise<import('./count-text.js').Facts>}
 */
export const factsOf = async (table, time, total, signal) => {
  const [count, newest] = await Promise.all([
    total.catch(() => undefined),
    time && newestOf(table, time, signal).catch(() => undefined),
  ]);
  return { total: count, newest };
};
