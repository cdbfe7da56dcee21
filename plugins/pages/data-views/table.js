/** A table that sorts by its columns' headings. */
import { h } from '../shared/dom.js';

/**
 * @template Row
 * @typedef {object} Column
 * @property {string} label
 * @property {(row: Row) => import('../shared/dom.js').Children} cell
 * @property {((row: Row) => string | number | null) | undefined} [value] what it is sorted by; none: it is not
 * @property {boolean} [numeric]
 * @property {string} [hint] what the label does not say
 * @property {string} [name] for styles
 * @property {string} [key] of the column in addresses
 */

/**
 * A column that is sorted by what it shows.
 * @template Row
 * @template {string | number | null} Value
 * @param {string} label @param {(row: Row) => Value} value
 * @param {(value: Value) => import('../shared/dom.js').Children} [shown]
 * @param {Partial<Column<Row>>} [more]
 * @returns {Column<Row>}
 */
export const column = (label, value, shown = (one) => one, more = {}) => ({
  label,
  cell: (row) => shown(value(row)),
  value,
  ...more,
});

/**
 * The same of numbers.
 * @template Row
 * @template {number | null} Value
 * @param {string} label @param {(row: Row) => Value} value @param {(value: Value) => string} text
 * @param {Partial<Column<Row>>} [more]
 * @returns {Column<Row>}
 */
export const numbers = (label, value, text, more = {}) => column(label, value, text, { numeric: true, ...more });

/** More rows than anybody reads, and about as many as a phone lays out at once without a pause. */
const SHOWN = 500;

/** @type {(a: string | number | null, b: string | number | null, sign: number) => number} */
const compare = (a, b, sign) => {
  // Rows without a value come last, whichever way the rest goes.
  if (a === null || b === null) return a === b ? 0 : a === null ? 1 : -1;
  if (typeof a === 'number' && typeof b === 'number') return sign * (a - b);
  return sign * String(a).localeCompare(String(b), 'en');
};

/**
 * The first column heads its row; where it holds a link, a click anywhere in the row follows it.
 * @template Row
 * @param {object} options
 * @param {string} options.caption
 * @param {readonly Column<Row>[]} options.columns
 * @param {readonly Row[]} options.rows
 * @param {string | null} [options.sort] key of the column sorted by at first, `-` before it: descending; none: as the
 *   rows come
 * @param {(sort: string) => void} [options.onsort]
 * @param {boolean} [options.scrolls] whether it scrolls by itself, below its headings
 */
export const dataTable = ({ caption, columns, rows, sort, onsort, scrolls = false }) => {
  const keyOf = (/** @type {Column<Row>} */ { key, label }) => key ?? label.toLowerCase();
  let sorted = columns.findIndex((column) => column.value && keyOf(column) === sort?.replace(/^-/, ''));
  let sign = sort?.startsWith('-') ? -1 : 1;
  let shown = rows;
  let ordered = rows;
  const body = h('tbody');
  const more = h('p', { class: 'muted', hidden: true });
  const headings = columns.map((column, index) => {
    const button = column.value && h('button', { type: 'button', onclick: () => sortBy(index) }, column.label);
    return h('th', { scope: 'col', class: classOf(column), title: column.hint || undefined }, button ?? column.label);
  });

  /** @param {number} index */
  const sortBy = (index) => {
    const column = columns[index];
    if (!column) return;
    // Figures are looked through from the largest on, names from A on.
    sign = sorted === index ? -sign : column.numeric ? -1 : 1;
    sorted = index;
    fill();
    onsort?.(`${sign < 0 ? '-' : ''}${keyOf(column)}`);
  };
  const fill = () => {
    headings.forEach((heading, index) => {
      if (index === sorted) heading.setAttribute('aria-sort', sign > 0 ? 'ascending' : 'descending');
      else heading.removeAttribute('aria-sort');
    });
    const value = columns[sorted]?.value;
    ordered = value ? shown.toSorted((a, b) => compare(value(a), value(b), sign)) : shown;
    body.replaceChildren(...ordered.slice(0, SHOWN).map(rowOf));
    more.hidden = ordered.length <= SHOWN;
    more.textContent = `The first ${SHOWN} of ${ordered.length} rows. The CSV has all of them.`;
  };
  /** @param {Row} row */
  const rowOf = (row) => {
    const cells = columns.map((column, index) =>
      index === 0
        ? h('th', { scope: 'row', class: classOf(column) }, column.cell(row))
        : h('td', { class: classOf(column) }, column.cell(row)),
    );
    return h('tr', { onclick: followLink }, ...cells);
  };

  const table = h(
    'table',
    {},
    h('caption', {}, h('span', {}, caption)),
    h('thead', {}, h('tr', {}, ...headings)),
    body,
  );
  // Wider than a phone, it scrolls by itself, also by keys.
  const element = h(
    'div',
    { class: 'table' },
    h('div', { class: 'scroll', tabindex: '0', role: 'region', 'aria-label': caption, 'data-scrolls': scrolls }, table),
    more,
  );
  fill();
  return {
    element,
    /** As they stand, those too that are not laid out. */
    rows: () => ordered,
    /** @param {readonly Row[]} some other rows */
    show: (some) => {
      shown = some;
      fill();
    },
  };
};

/** @param {{ numeric?: boolean, name?: string }} column */
const classOf = ({ numeric, name }) => [numeric && 'number', name].filter(Boolean).join(' ') || undefined;

/** @param {Event} event */
const followLink = (event) => {
  const { target, currentTarget } = event;
  if (!(target instanceof Element) || target.closest('a, button') || getSelection()?.type === 'Range') return;
  const link = /** @type {Element} */ (currentTarget).querySelector('th a');
  if (link instanceof HTMLElement) link.click();
};
