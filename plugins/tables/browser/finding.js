import { counted, list } from '../../../core/pages/shared/format.js';
import { inSentence } from './cells.js';
import { groupColumns } from './facets.js';
import { newestOf, totalsOf } from './rows.js';

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

/** @param {Table} table @param {readonly import('./time-figures.js').Row[]} sample */
export const categoryOf = (table, sample) =>
  groupColumns(table, sample).find(({ name, kind }) => kind === 'text' && !table.key.includes(name));

const MOST_CHARACTERS = 40;

/**
 * Returns text such as `the most common genre is novel (62 rows)`, or undefined if there is no single most common
 * value.
 * @param {Table} table @param {Column} column @param {AbortSignal} signal
 */
const largestOf = async (table, { name, label }, signal) => {
  const measure = `${table.measures['count']}`;
  const parameters = new URLSearchParams({ by: name, sort: `-${measure}`, limit: '2' });
  const [first, second] = await totalsOf(table, parameters, signal);
  const value = String(first?.[name] ?? '');
  const [count, next] = [Number(first?.[measure]), Number(second?.[measure])];
  if (value === '' || value.length > MOST_CHARACTERS || !(count > next)) return undefined;
  return `the most common ${inSentence(label)} is ${value} (${counted(count, 'row')})`;
};

/** @template Fact @param {Promise<Fact> | undefined} fact */
const ifKnown = async (fact) => fact?.catch(() => undefined);

/**
 * @param {Table} table @param {{ time: Column | undefined, group: Column | undefined }} columns `group`: a text column
 *   with repeated values
 * @param {Promise<number>} total @param {AbortSignal} signal
 * @returns {Promise<import('./count-text.js').Facts>}
 */
export const factsOf = async (table, { time, group }, total, signal) => {
  const [count, newest, largest] = await Promise.all([
    ifKnown(total),
    ifKnown(time && newestOf(table, time, signal)),
    ifKnown(group && largestOf(table, group, signal)),
  ]);
  return { total: count, newest, largest };
};
