/** The view of a table, which shows its rows with search, sorting and filters, and a chart over time. */
import { keepInAddress } from '../../pages/data-views/address.js';
import { replaceTools } from '../../pages/data-views/figure.js';
import { latestOf } from '../../pages/data-views/latest.js';
import { narrowBy } from '../../pages/data-views/search-field.js';
import { dataTable } from '../../pages/data-views/table.js';
import { Problem, request } from '../../pages/shared/api.js';
import { h } from '../../pages/shared/dom.js';
import { exact } from '../../pages/shared/format.js';
import { cellsOf, rowAddress, words } from './cells.js';
import { filterFields } from './filters.js';
import { found } from './row-figures.js';
import { parametersOf } from './tables.js';
import { timeChart } from './time-chart.js';

/**
 * @typedef {import('./tables.js').Table} Table
 * @typedef {import('./row-figures.js').Row} Row
 * @typedef {{ rows: readonly Row[], more: boolean }} Loaded `more`: whether the API has more rows
 */

/** The number of rows per call. */
const PAGE = 1000;
/** The maximum number of calls per view, since the browser's memory is limited. */
const PAGES = 5;

/** @param {string} target @param {AbortSignal} signal @returns {Promise<Loaded>} the first rows */
const firstRows = async (target, signal) => {
  /** @type {Row[]} */
  const rows = [];
  /** @type {string | undefined} */
  let query = `${target.includes('?') ? '&' : '?'}limit=${PAGE}`;
  let next = `${target}${query}`;
  for (let page = 0; page < PAGES; page += 1) {
    const response = await request(next, { signal });
    rows.push(...(await response.json()).data);
    query = /^<(\?[^>]+)>; rel="next"/.exec(response.headers.get('Link') ?? '')?.[1];
    if (query === undefined) return { rows, more: false };
    next = `${target.replace(/\?.*/, '')}${query}`;
  }
  return { rows, more: true };
};

/** @param {Table} table @param {Loaded} loaded @returns {import('../../pages/data-views/table.js').Column<Row>[]} */
const columnsOf = (table, { rows, more }) => {
  const cell = cellsOf(table, rows);
  /** Only the API can sort rows that are not loaded. @param {string} name */
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

/** @param {number} shown @param {Loaded} loaded @param {string} search */
const countText = (shown, { rows, more }, search) => {
  const searched = search ? ` with “${search}”` : '';
  return more
    ? `${exact(shown)} rows${searched} of the first ${exact(rows.length)}. Filter to see others.`
    : `${exact(shown)} ${shown === 1 ? 'row' : 'rows'}${searched}`;
};

/**
 * Creates the list of rows.
 * @param {Table} table @param {URLSearchParams} query
 * @param {{ onsort: (sort: string) => void }} options
 */
const rowList = (table, query, { onsort }) => {
  const place = h('div', { class: 'rows' });
  return {
    element: place,
    /** @param {readonly Row[]} rows @param {Loaded} loaded */
    show: (rows, loaded) => {
      const scrolled = place.querySelector('.scroll')?.scrollTop;
      place.replaceChildren(
        dataTable({
          caption: `The rows of ${words(table.name).toLowerCase()}.`,
          columns: columnsOf(table, loaded),
          rows,
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
 * Returns a function that loads the rows again for other filters or another order. Only its last call has an effect.
 * @param {AbortSignal} signal of the view @param {HTMLElement} problem shows an error @param {() => string} target
 * @param {(loaded: Loaded) => void} onload
 */
const reloader = (signal, problem, target, onload) => {
  const next = latestOf(signal);
  return async () => {
    const loading = next();
    problem.textContent = '';
    try {
      const loaded = await firstRows(target(), loading);
      if (!loading.aborted) onload(loaded);
    } catch (error) {
      if (loading.aborted) return;
      if (!(error instanceof Problem)) throw error;
      problem.textContent = error.message;
    }
  };
};

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
  let loaded = await firstRows(target(), signal);
  const [count, tools] = [h('p', { class: 'count muted', role: 'status' }), h('div')];
  const problem = h('p', { class: 'problem', role: 'alert' });
  const title = words(table.name);
  const figure = timeChart(table, query, signal, { title, target });

  const showTools = () =>
    replaceTools(tools, {
      sources: [{ label: table.name, target: target(), file: table.name }],
      remark: search() ? 'Only this page applies the search: the call and the CSV have the other rows too.' : '',
    });
  const show = () => {
    const rows = found(loaded.rows, search());
    list.show(rows, loaded);
    count.textContent = countText(rows.length, loaded, search());
    showTools();
    figure.show(rows);
  };
  const load = reloader(signal, problem, target, (some) => {
    loaded = some;
    show();
  });
  /** @param {Record<string, string>} change */
  const keep = (change) => {
    for (const [name, value] of Object.entries(change)) query.set(name, value);
    keepInAddress(change);
  };
  const list = rowList(table, query, {
    onsort: (sort) => {
      keep({ sort });
      if (loaded.more) void load();
      else showTools();
    },
  });
  narrowBy(
    search(),
    (q) => {
      keep({ q });
      show();
    },
    signal,
  );
  const fields = filterFields(table, query, loaded.rows, () => void load());
  show();
  return {
    title,
    content: [h('div', { class: 'row filters' }, ...fields, count), problem, list.element, tools, figure.element],
  };
};
