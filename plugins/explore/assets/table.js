/** A table that sorts by its columns' headings and filters by a text. */
import { h } from './dom.js';

/**
 * @template Row
 * @typedef {object} Column
 * @property {string} label
 * @property {(row: Row) => import('./dom.js').Child} cell
 * @property {(row: Row) => string | number | null} [value] what it is sorted by; none: it is not
 * @property {boolean} [numeric]
 * @property {string} [name] for styles
 */

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
 * @param {{ caption: string, columns: readonly Column<Row>[], rows: readonly Row[], sort?: number,
 *   descending?: boolean, text?: (row: Row) => string, onshow?: (shown: number, all: number) => void }} options
 *   `sort`: index of the column sorted by at first; none: as the rows come. `text`: what a filter looks in
 */
export const dataTable = ({ caption, columns, rows, sort, descending = false, text, onshow }) => {
  let sorted = sort;
  let sign = descending ? -1 : 1;
  let wanted = '';
  const body = h('tbody');
  const more = h('p', { class: 'muted', hidden: true });
  const headings = columns.map((column, index) => {
    const button = column.value && h('button', { type: 'button', onclick: () => sortBy(index) }, column.label);
    return h('th', { scope: 'col', class: classOf(column) }, button ?? column.label);
  });

  /** @param {number} index */
  const sortBy = (index) => {
    // Figures are looked through from the largest on, names from A on.
    sign = sorted === index ? -sign : columns[index]?.numeric ? -1 : 1;
    sorted = index;
    show();
  };
  const show = () => {
    headings.forEach((heading, index) => {
      if (index === sorted) heading.setAttribute('aria-sort', sign > 0 ? 'ascending' : 'descending');
      else heading.removeAttribute('aria-sort');
    });
    const words = wanted.toLowerCase().split(/\s+/).filter(Boolean);
    let found = text ? rows.filter((row) => words.every((word) => text(row).toLowerCase().includes(word))) : [...rows];
    const value = sorted === undefined ? undefined : columns[sorted]?.value;
    if (value) found = found.toSorted((a, b) => compare(value(a), value(b), sign));
    body.replaceChildren(...found.slice(0, SHOWN).map(rowOf));
    more.hidden = found.length <= SHOWN;
    more.textContent = `The first ${SHOWN} of ${found.length} rows. The CSV has all of them.`;
    onshow?.(found.length, rows.length);
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
    {},
    h('div', { class: 'scroll', tabindex: '0', role: 'region', 'aria-label': caption }, table),
    more,
  );
  show();
  return {
    element,
    /** @param {string} words rows that have all of them stay */
    filter: (words) => {
      wanted = words;
      show();
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
