import { h } from '../shared/dom.js';
import { exact } from '../shared/format.js';

/** @import { Children } from '../shared/dom.js' */

/**
 * @template Row @typedef {object} Column
 * @property {string} label
 * @property {(row: Row) => Children} cell
 * @property {((row: Row) => string | number | null) | undefined} [value] returns the value for sorting. Default: the
 *   column cannot be sorted
 * @property {boolean} [numeric]
 * @property {string} [hint] explains the label
 * @property {string} [name] CSS class
 * @property {string} [key] identifies the column in addresses. Default: the label in lower case
 */

/**
 * @template Row @template {string | number | null} Value @param {string} label @param {(row: Row) => Value} value
 * @param {(value: Value) => Children} [shown] @param {Partial<Column<Row>>} [more] @returns {Column<Row>}
 */
export const column = (label, value, shown = (one) => one, more = {}) => ({
  label,
  cell: (row) => shown(value(row)),
  value,
  ...more,
});

/**
 * @template Row @template {number | null} Value
 * @param {string} label @param {(row: Row) => Value} value @param {(value: Value) => string} text
 * @param {Partial<Column<Row>>} [more] @returns {Column<Row>}
 */
export const numbers = (label, value, text, more = {}) => column(label, value, text, { numeric: true, ...more });

const SHOWN = 50;

const MAX_UNWRAPPED = 20;

/** @type {(a: string | number | null, b: string | number | null, sign: number) => number} */
const compare = (a, b, sign) => {
  // Rows without a value come last in ascending and descending order.
  if (a === null || b === null) return a === b ? 0 : a === null ? 1 : -1;
  if (typeof a === 'number' && typeof b === 'number') return sign * (a - b);
  return sign * String(a).localeCompare(String(b), 'en');
};

/** @param {{ key?: string, label: string }} column */
const keyOf = ({ key, label }) => key ?? label.toLowerCase();

/** @template Row @param {readonly Column<Row>[]} columns @param {string | null | undefined} sort */
const orderOf = (columns, sort) => {
  let sorted = -1;
  let sign = 1;
  const start = (/** @type {string | null | undefined} */ key) => {
    sorted = columns.findIndex((column) => column.value && keyOf(column) === key?.replace(/^-/, ''));
    sign = key?.startsWith('-') ? -1 : 1;
  };
  start(sort);
  return {
    start,
    /** @param {number} index @returns {string} */
    choose: (index) => {
      const column = /** @type {Column<Row>} */ (columns[index]);
      // The first click on a column sorts numbers in descending order and text in ascending order.
      sign = sorted === index ? -sign : column.numeric ? -1 : 1;
      sorted = index;
      return `${sign < 0 ? '-' : ''}${keyOf(column)}`;
    },
    /** @param {readonly Row[]} rows */
    apply: (rows) => {
      const value = columns[sorted]?.value;
      return value ? rows.toSorted((a, b) => compare(value(a), value(b), sign)) : rows;
    },
    /** @param {readonly HTMLElement[]} headings */
    mark: (headings) =>
      headings.forEach((heading, index) => {
        if (index === sorted) heading.setAttribute('aria-sort', sign > 0 ? 'ascending' : 'descending');
        else heading.removeAttribute('aria-sort');
      }),
  };
};

/** @template Row @param {readonly Column<Row>[]} columns @param {Row} row */
const rowOf = (columns, row) =>
  h(
    'tr',
    { onclick: followLink },
    ...columns.map((column, index) =>
      index === 0
        ? h('th', { scope: 'row', class: classOf(column) }, column.cell(row))
        : h('td', { class: classOf(column) }, column.cell(row)),
    ),
  );

/**
 * Creates a sortable table. A click on a row follows the link in its first cell.
 * @template Row @param {object} options @param {string} options.caption @param {readonly Column<Row>[]} options.columns
 * @param {readonly Row[]} options.rows
 * @param {string | null} [options.sort] key of the initial sort column, with a leading `-` for descending order.
 *   Default: the given order
 * @param {(sort: string) => void} [options.onsort] called when the user sorts the table
 * @param {boolean} [options.scrolls] whether the rows scroll below a fixed header
 * @param {boolean} [options.whole] whether to show all rows. Default: the first 50 rows and a button for the others
 * @param {() => void} [options.onwhole] called when the user clicks this button
 */
export const dataTable = ({ caption, columns, rows, sort, onsort, scrolls = false, whole = false, onwhole }) => {
  const order = orderOf(columns, sort);
  let shown = rows;
  let ordered = rows;
  let isWhole = whole;
  const body = h('tbody');
  const showAll = () => {
    isWhole = true;
    const first = body.children.length;
    fill();
    onwhole?.();
    body.children[first]?.querySelector('a')?.focus();
  };
  const all = h('button', { type: 'button', class: 'quiet', onclick: showAll });
  const count = h('span');
  const more = h('p', { class: 'more muted' }, count, ' ', all);
  const headings = columns.map((column, index) => {
    const sortBy = () => {
      const chosen = order.choose(index);
      fill();
      onsort?.(chosen);
    };
    const button = column.value && h('button', { type: 'button', onclick: sortBy }, column.label);
    const names = classOf(column, column.label.length > MAX_UNWRAPPED);
    return h('th', { scope: 'col', class: names, title: column.hint || undefined }, button ?? column.label);
  });
  const fill = () => {
    order.mark(headings);
    ordered = order.apply(shown);
    body.replaceChildren(...ordered.slice(0, isWhole ? ordered.length : SHOWN).map((row) => rowOf(columns, row)));
    more.hidden = isWhole || ordered.length <= SHOWN;
    count.textContent = `${SHOWN} of ${exact(ordered.length)} rows.`;
    all.textContent = `Show all ${exact(ordered.length)}`;
  };
  const heads = [h('caption', caption), h('thead', h('tr', ...headings))];
  // `tabindex` makes wide tables scrollable with the keyboard.
  const scroll = { class: 'scroll', tabindex: '0', role: 'region', 'aria-label': caption, 'data-scrolls': scrolls };
  const element = h('div', { class: 'table' }, h('div', scroll, h('table', ...heads, body)), more);
  fill();
  return {
    element,
    rows: () => ordered,
    /** @param {readonly Row[]} others */
    show: (others) => {
      shown = others;
      fill();
    },
    /** @param {string} key */
    sortBy: (key) => {
      order.start(key);
      fill();
    },
  };
};

/** @param {{ numeric?: boolean, name?: string }} column */
const classOf = ({ numeric, name }, wraps = false) =>
  [numeric && 'number', name, wraps && 'wraps'].filter(Boolean).join(' ') || undefined;

/** @param {Event} event */
const followLink = (event) => {
  const { target, currentTarget } = event;
  if (!(target instanceof Element) || target.closest('a, button') || getSelection()?.type === 'Range') return;
  const link = /** @type {Element} */ (currentTarget).querySelector('th a');
  if (link instanceof HTMLElement) link.click();
};
