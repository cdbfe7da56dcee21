import { addressOf } from '../../../core/pages/data-views/address.js';
import { h } from '../../../core/pages/shared/dom.js';
import { decimalsOf, exact, number } from '../../../core/pages/shared/format.js';
import { timesOf } from './time-figures.js';

/** @import { Column, Table } from './tables.js' */
/** @import { Row } from './time-figures.js' */

/** @param {string} name @returns {string} */
export const words = (name) => name.replaceAll(/[_-]/g, ' ').replace(/^./, (first) => first.toUpperCase());

/** Acronyms such as `GDP` keep their capitals. @param {string} label */
export const inSentence = (label) => label.replace(/^\p{Lu}(?!\p{Lu})/u, (first) => first.toLowerCase());

/** Numbers in a column have the same number of decimals, unless a number would then have more digits than this. */
const MOST_DIGITS = 15;

/** @param {readonly unknown[]} values */
const sharedDecimals = (values) => {
  const decimals = decimalsOf(values);
  const most = 10 ** (MOST_DIGITS - decimals);
  const isTooLong = (/** @type {unknown} */ value) => typeof value === 'number' && Math.abs(value) >= most;
  return decimals > MOST_DIGITS || values.some(isTooLong) ? undefined : decimals;
};

/**
 * Returns a function that formats the numbers of a column without dropping decimals.
 * @param {readonly unknown[]} values
 */
export const numberTexts = (values) => {
  const decimals = sharedDecimals(values);
  return (/** @type {number | null} */ value) => (decimals === undefined ? exact(value) : number(value, decimals));
};

/** @param {string | HTMLElement} content */
export const linkOf = (content) =>
  typeof content === 'string' && /^https?:\/\/\S+$/.test(content)
    ? h('a', { href: content, rel: 'nofollow noreferrer' }, content)
    : undefined;

/** @param {Pick<Table, 'columns' | 'key'>} table @param {readonly Row[]} rows */
export const cellsOf = ({ columns, key }, rows) => {
  // Years and numeric keys are shown without thousands separators.
  const plain = new Set([...key, ...timesOf(columns, rows).map(({ name }) => name)]);
  const decimals = new Map(columns.map(({ name }) => [name, sharedDecimals(rows.map((row) => row[name]))]));
  return (/** @type {Row} */ row, /** @type {Column} */ { name }) => {
    const value = row[name];
    if (value === null || value === undefined) return h('span', { class: 'muted' }, '–');
    if (typeof value === 'boolean') return value ? 'yes' : 'no';
    if (typeof value !== 'number') return value;
    const digits = decimals.get(name);
    if (digits === undefined) return plain.has(name) ? String(value) : exact(value);
    return plain.has(name) ? value.toFixed(digits) : number(value, digits);
  };
};

/** @param {Column} column @param {Table['key']} key @param {readonly Row[]} rows */
export const groupTexts = (column, key, rows) => {
  const cell = cellsOf({ columns: [column], key }, rows);
  return (/** @type {Row} */ row) => {
    const value = row[column.name] ?? null;
    return value === null ? 'no value' : value === '' ? '(empty)' : cell(row, column);
  };
};

/** @param {Table} table @param {Row} row */
export const rowAddress = ({ name, key }, row) => addressOf([name, ...key.map((field) => String(row[field]))]);

/** @param {Table} table @param {readonly string[]} key */
export const targetOf = ({ name }, key) => `/${[name, ...key].map(encodeURIComponent).join('/')}`;
