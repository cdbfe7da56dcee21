import { latestOf, showLatest } from '../../../core/pages/data-views/latest.js';
import { dataTable } from '../../../core/pages/data-views/table.js';
import { Problem } from '../../../core/pages/shared/api.js';
import { h } from '../../../core/pages/shared/dom.js';
import { cellsOf, inSentence, linkOf, rowAddress, words } from './cells.js';
import { listTarget, shownColumns } from './conditions.js';
import { marked } from './matches.js';
import { readPage, rejectionOf } from './rows.js';

/** @import { Table } from './tables.js' */
/** @import { Row } from './time-figures.js' */

/**
 * @typedef {{ after: string | null, from: number }} Start `after`: parameter of the API; `from`: number of the first
 *   row, counted from 1
 * @typedef {Start & import('./rows.js').Page} Page
 */

/**
 * The starts of earlier pages are in the history entry, so they survive a reload but are not part of links.
 * @returns {Start[]}
 */
const earlierStarts = () => history.state?.starts ?? [];

/** @param {Start[]} starts */
const keepStarts = (starts) => history.replaceState({ ...history.state, starts }, '');

/** @param {URLSearchParams} query @returns {Start} */
const startIn = (query) => ({ after: query.get('after'), from: Number.parseInt(query.get('from') ?? '', 10) || 1 });

/** @param {Table} table @param {URLSearchParams} query @param {AbortSignal} signal @returns {Promise<Page>} */
const pageIn = async (table, query, signal) => {
  const start = startIn(query);
  return { ...start, ...(await readPage(listTarget(table, query), start.after, signal)) };
};

/** @param {Start} start */
const choiceOf = ({ after, from }) => ({ after: after ?? '', from: after === null ? '' : `${from}` });

export const FIRST_PAGE = choiceOf({ after: null, from: 1 });

const MAX_UNWRAPPED = 32;

/** @param {readonly Row[]} rows @param {string} name */
const isLong = (rows, name) => rows.some((row) => String(row[name] ?? '').length > MAX_UNWRAPPED);

/** @param {Table} table @param {URLSearchParams} query @param {readonly Row[]} rows */
const columnsOf = (table, query, rows) => {
  const cell = cellsOf(table, rows);
  const search = table.searches ? (query.get('q') ?? '') : '';
  return shownColumns(table, query).map((column, index) => ({
    label: column.label,
    key: column.name,
    hint: column.description,
    numeric: column.kind === 'number',
    name:
      column.label.length > MAX_UNWRAPPED || (column.kind === 'text' && isLong(rows, column.name))
        ? 'text'
        : `short${column.kind === 'date' ? ' date' : ''}`,
    cell: (/** @type {Row} */ row) => {
      const shown = cell(row, column);
      const isMarked = search !== '' && column.kind === 'text' && typeof shown === 'string';
      const text = isMarked ? marked(shown, search) : shown;
      return index === 0 ? h('a', { href: rowAddress(table, row) }, text) : (linkOf(shown) ?? text);
    },
    // The API has already sorted the rows. `dataTable` keeps their order, because all values for sorting are null.
    value: table.sorts.includes(column.name) ? () => null : undefined,
  }));
};

/** @param {Page} page @param {(start: Start, earlier: Start[]) => void} onturn */
const pager = ({ after, from, rows, next }, onturn) => {
  const earlier = after === null ? [] : earlierStarts();
  const previous = earlier.at(-1);
  /** @type {(id: string, text: string, go: (() => void) | false | undefined) => HTMLButtonElement} */
  const button = (id, text, go) =>
    h('button', { id, type: 'button', class: 'quiet', disabled: !go, onclick: go || undefined }, text);
  return h(
    'nav',
    { class: 'pager', 'aria-label': 'Pages', hidden: after === null && next === null },
    button('first-page', 'First page', after !== null && (() => onturn({ after: null, from: 1 }, []))),
    button('previous-page', 'Previous', previous && (() => onturn(previous, earlier.slice(0, -1)))),
    button(
      'next-page',
      'Next',
      next !== null && (() => onturn({ after: next, from: from + rows.length }, [...earlier, { after, from }])),
    ),
  );
};

/**
 * Restores the focus after the list has been redrawn. Focuses the new button for `old`, or a paging button if `old` has
 * no counterpart.
 * @param {HTMLElement} place
 * @param {Element} old
 */
const focusAgain = (place, old) => {
  const same = old.matches('th button')
    ? place.querySelector('[aria-sort] button')
    : [...place.querySelectorAll('button:enabled')].find(({ id }) => id === old.id);
  const element = same ?? place.querySelector('.pager button:enabled');
  if (element instanceof HTMLElement) element.focus({ preventScroll: true });
};

/** @param {string} message @param {(() => void) | undefined} reset */
const rejection = (message, reset) =>
  h(
    'div',
    { class: 'notice', role: 'alert' },
    h('p', message),
    reset && h('button', { type: 'button', onclick: reset }, 'Back to the first page'),
  );

/**
 * @param {Table} table @param {URLSearchParams} query the user's choices
 * @param {{ signal: AbortSignal, keep: (change: Record<string, string>) => void, onshow: (page: Page) => void, empty:
 *   () => HTMLElement }} options `onshow` is called with each page; `empty` creates the message for a list without rows
 */
export const rowList = (table, query, { signal, keep, onshow, empty }) => {
  const place = h('div', { class: 'rows' });
  const next = latestOf(signal);

  /** @type {{ page: Page, sort: string | null, starts: Start[] } | undefined} */
  let shown;
  /** @param {Record<string, string>} change @param {Start[]} earlier */
  const reload = (change, earlier) => {
    keep(change);
    keepStarts(earlier);
    void show();
  };
  /** @param {Page} page */
  const render = (page) => {
    const list = dataTable({
      caption: `Rows of ${inSentence(words(table.name))}.`,
      columns: columnsOf(table, query, page.rows),
      rows: page.rows,
      sort: query.get('sort'),
      onsort: (sort) => reload({ sort, ...FIRST_PAGE }, []),
      scrolls: true,
      whole: true,
    });
    const focused = place.contains(document.activeElement) ? document.activeElement : null;
    place.replaceChildren(
      page.rows.length === 0 && page.next === null ? empty() : list.element,
      pager(page, (start, earlier) => reload(choiceOf(start), earlier)),
    );
    if (focused) focusAgain(place, focused);
    shown = { page, sort: query.get('sort'), starts: earlierStarts() };
    onshow(page);
  };
  /**
   * Shows why the API rejected a request, and keeps the current rows. The usual reason is that the table has no index
   * for the chosen order and too many rows to sort.
   * @param {Problem} problem
   */
  const refuse = ({ message }) => {
    const sort = query.get('sort');
    const kept = shown && shown.sort !== sort ? shown : undefined;
    if (kept) {
      keep({ sort: kept.sort ?? '', ...choiceOf(kept.page) });
      keepStarts(kept.starts);
      render(kept.page);
    } else {
      shown = undefined;
      place.replaceChildren();
    }
    const isFirst = sort === null && startIn(query).after === null;
    const reset = kept || isFirst ? undefined : () => reload({ sort: '', ...FIRST_PAGE }, []);
    place.prepend(rejection(message, reset));
  };
  const show = () =>
    showLatest(
      next,
      place,
      (loading) => pageIn(table, query, loading).catch(rejectionOf),
      (made) => (made instanceof Problem ? refuse(made) : render(made)),
    );
  return { element: place, show };
};
