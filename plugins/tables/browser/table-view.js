import { keepInAddress } from '../../pages/data-views/address.js';
import { replaceTools } from '../../pages/data-views/figure.js';
import { latestOf } from '../../pages/data-views/latest.js';
import { narrowBy } from '../../pages/data-views/search-field.js';
import { dataTable } from '../../pages/data-views/table.js';
import { getJson, Problem, request } from '../../pages/shared/api.js';
import { h } from '../../pages/shared/dom.js';
import { exact } from '../../pages/shared/format.js';
import { cellsOf, rowAddress, words } from './cells.js';
import { filterFields } from './filters.js';
import { matchingOf, parametersOf } from './tables.js';
import { timeChart } from './time-chart.js';
import { totalsPanel } from './totals-panel.js';

/**
 * @typedef {import('./tables.js').Table} Table
 * @typedef {import('./row-figures.js').Row} Row
 * @typedef {{ rows: readonly Row[], more: boolean, count: number | undefined }} Loaded `more`: whether the API has rows
 *   beyond the loaded ones; `count`: the number of matching rows, or undefined if the API cannot count them
 */

const ROWS_PER_CALL = 1000;
/** Limits how many rows the browser keeps in memory. */
const MAX_CALLS = 5;

/** @param {string} target @param {AbortSignal} signal @returns {Promise<Omit<Loaded, 'count'>>} */
const firstRows = async (target, signal) => {
  /** @type {Row[]} */
  const rows = [];
  /** @type {string | undefined} */
  let query = `${target.includes('?') ? '&' : '?'}limit=${ROWS_PER_CALL}`;
  let next = `${target}${query}`;
  for (let call = 0; call < MAX_CALLS; call += 1) {
    const response = await request(next, { signal });
    rows.push(...(await response.json()).data);
    query = /^<(\?[^>]+)>; rel="next"/.exec(response.headers.get('Link') ?? '')?.[1];
    if (query === undefined) return { rows, more: false };
    next = `${target.replace(/\?.*/, '')}${query}`;
  }
  return { rows, more: true };
};

/**
 * Loads the first rows and counts all matching rows.
 * @param {Table} table @param {string} target @param {string} matching query parameters without `sort`
 * @param {AbortSignal} signal
 * @returns {Promise<Loaded>}
 */
const load = async ({ name, measures }, target, matching, signal) => {
  const first = await firstRows(target, signal);
  if (!first.more) return { ...first, count: first.rows.length };
  try {
    const { data } = await getJson(`/totals/${name}?${matching}`, { signal });
    return { ...first, count: data[0][measures['count'] ?? ''] };
  } catch (error) {
    // A 400 means that the table has too many rows to count without an index.
    if (error instanceof Problem && error.status === 400) return { ...first, count: undefined };
    throw error;
  }
};

/** @param {Table} table @param {Loaded} loaded @returns {import('../../pages/data-views/table.js').Column<Row>[]} */
const columnsOf = (table, { rows, more }) => {
  const cell = cellsOf(table, rows);
  /** If some rows are not loaded, only the API can sort all of them. @param {string} name */
  const isSortable = (name) => !more || table.sorts.some((sort) => sort.split(',')[0] === name);
  return table.columns.map((column, index) => ({
    label: column.label,
    key: column.name,
    hint: column.description,
    numeric: column.kind === 'number',
    name: column.kind === 'date' ? 'date' : '',
    cell: (row) => (index === 0 ? h('a', { href: rowAddress(table, row) }, cell(row, column)) : cell(row, column)),
    value: isSortable(column.name)
      ? (row) => {
          const value = row[column.name] ?? null;
          return typeof value === 'boolean' ? Number(value) : value;
        }
      : undefined,
  }));
};

/** @param {Loaded} loaded @param {string} search */
const countText = ({ rows, more, count }, search) => {
  const searched = search ? ` with “${search}”` : '';
  if (count === undefined) return `The first ${exact(rows.length)} rows${searched}. Filter to see others.`;
  const all = `${exact(count)} ${count === 1 ? 'row' : 'rows'}${searched}`;
  return more ? `${all}, of which the first ${exact(rows.length)} are loaded. Filter to see others.` : all;
};

/**
 * @param {Table} table @param {URLSearchParams} query
 * @param {{ onsort: (sort: string) => void }} options
 */
const rowList = (table, query, { onsort }) => {
  const place = h('div', { class: 'rows' });
  return {
    element: place,
    /** @param {Loaded} loaded */
    show: (loaded) => {
      const scrolled = place.querySelector('.scroll')?.scrollTop;
      place.replaceChildren(
        dataTable({
          caption: `The rows of ${words(table.name).toLowerCase()}.`,
          columns: columnsOf(table, loaded),
          rows: loaded.rows,
          sort: query.get('sort'),
          onsort,
          scrolls: true,
        }).element,
      );
      if (scrolled) place.querySelector('.scroll')?.scrollTo(0, scrolled);
    },
  };
};

/**
 * Returns a function that reloads the rows. A call cancels the one before it.
 * @param {AbortSignal} signal aborted when the user leaves the view @param {HTMLElement} problem shows errors
 * @param {(signal: AbortSignal) => Promise<Loaded>} read @param {(loaded: Loaded) => void} onload
 */
const reloader = (signal, problem, read, onload) => {
  const next = latestOf(signal);
  return async () => {
    const loading = next();
    problem.textContent = '';
    try {
      const loaded = await read(loading);
      if (!loading.aborted) onload(loaded);
    } catch (error) {
      if (loading.aborted) return;
      if (!(error instanceof Problem)) throw error;
      problem.textContent = error.message;
    }
  };
};

/** A search is sent when the user has not typed for this long. */
const TYPING_PAUSE_MS = 200;

/**
 * @param {Table} table
 * @returns {import('../../pages/data-views/router.js').Route}
 */
export const tableView = (table) => async (_parameters, signal, query) => {
  const target = () => {
    const parameters = parametersOf(table, query);
    return `/${table.name}${parameters.size > 0 ? `?${parameters}` : ''}`;
  };
  const search = () => query.get('q') ?? '';
  const read = (/** @type {AbortSignal} */ loading) => load(table, target(), `${matchingOf(table, query)}`, loading);
  let loaded = await read(signal);
  const [count, tools] = [h('p', { class: 'count muted', role: 'status' }), h('div')];
  const problem = h('p', { class: 'problem', role: 'alert' });
  const title = words(table.name);
  const figure = timeChart(table, query, signal, { title, target });

  const showTools = () =>
    replaceTools(tools, { sources: [{ label: table.name, target: target(), file: table.name }], remark: '' });
  const show = () => {
    list.show(loaded);
    count.textContent = countText(loaded, search());
    showTools();
    figure.show(loaded.rows, loaded.more ? `The chart shows the first ${exact(loaded.rows.length)} rows.` : '');
  };
  const reload = reloader(signal, problem, read, (some) => {
    loaded = some;
    show();
  });
  const refresh = () => {
    void reload();
    void totals.show();
  };
  /** @param {Record<string, string>} change */
  const keep = (change) => {
    for (const [name, value] of Object.entries(change)) query.set(name, value);
    keepInAddress(change);
  };
  const list = rowList(table, query, {
    onsort: (sort) => {
      keep({ sort });
      if (loaded.more) void reload();
      else showTools();
    },
  });
  const totals = totalsPanel(table, query, signal, {
    parameters: () => matchingOf(table, query),
    keep,
    onpick: (column, value) => {
      keep({ [`${column}[eq]`]: value });
      fields.replaceChildren(...filterFields(table, query, loaded.rows, refresh));
      refresh();
    },
  });
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let typing;
  narrowBy(
    search(),
    (q) => {
      keep({ q });
      clearTimeout(typing);
      typing = setTimeout(refresh, TYPING_PAUSE_MS);
    },
    signal,
  );
  signal.addEventListener('abort', () => clearTimeout(typing));
  const fields = h('div', { class: 'row filters' }, ...filterFields(table, query, loaded.rows, refresh));
  show();
  void totals.show();
  const beside = h('div', { class: 'with-totals' }, h('div', {}, list.element, tools), totals.element);
  return { title, content: [fields, count, problem, beside, figure.element] };
};
