import { addressOf } from '../../pages/data-views/address.js';
import { h } from '../../pages/shared/dom.js';
import { exact } from '../../pages/shared/format.js';
import { timesOf } from './row-figures.js';

/**
 * @typedef {import('./tables.js').Table} Table
 * @typedef {import('./tables.js').Column} Column
 * @typedef {import('./row-figures.js').Row} Row
 */

/** Turns `building-permits` into `Building permits`. @param {string} name @returns {string} */
export const words = (name) => name.replaceAll(/[_-]/g, ' ').replace(/^./, (first) => first.toUpperCase());

/** @param {Table} table @param {readonly Row[]} rows */
export const cellsOf = ({ columns, key }, rows) => {
  // Years and numbers in keys are shown without thousands separators.
  const plain = new Set([...key, ...timesOf(columns, rows).map(({ name }) => name)]);
  return (/** @type {Row} */ row, /** @type {Column} */ { name }) => {
    const value = row[name];
    if (value === null || value === undefined) return h('span', { class: 'muted' }, '–');
    if (typeof value === 'boolean') return value ? 'yes' : 'no';
    return typeof value === 'number' && !plain.has(name) ? exact(value) : String(value);
  };
};

/** Returns the address of the page that shows a row. @param {Table} table @param {Row} row */
export const rowAddress = ({ name, key }, row) => addressOf([name, ...key.map((field) => String(row[field]))]);

/** Returns the API path of a row. @param {Table} table @param {readonly string[]} key */
export const targetOf = ({ name }, key) => `/${[name, ...key].map(encodeURIComponent).join('/')}`;
