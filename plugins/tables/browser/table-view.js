/** A table's rows: searched, sorted and filtered, and over time as a chart. */
import { addressOf, keepInAddress } from '../../pages/data-views/address.js';
import { chart } from '../../pages/data-views/chart.js';
import { choice, select } from '../../pages/data-views/controls.js';
import { linesCsv } from '../../pages/data-views/csv.js';
import { chartFigure, linesTable, replaceTools } from '../../pages/data-views/figure.js';
import { latestOf } from '../../pages/data-views/latest.js';
import { narrowBy } from '../../pages/data-views/search-field.js';
import { dataTable } from '../../pages/data-views/table.js';
import { Problem, request } from '../../pages/shared/api.js';
import { h } from '../../pages/shared/dom.js';
import { exact, number } from '../../pages/shared/format.js';
import { chartChoices, figuresOf, found, LINES, periodText, timesOf } from './row-figures.js';
import { askedOf } from './tables.js';

/**
 * @typedef {import('./tables.js').Table} Table
 * @typedef {import('./tables.js').Column} Column
 * @typedef {import('./row-figures.js').Row} Row
 */

/** Rows of a call, and calls of a view: charts need many rows, and a phone's memory has an end. */
const [PAGE, PAGES] = [1000, 5];

/**
 * The first rows, and whether there are more.
 * @param {string} target @param {AbortSignal} signal
 */
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

/** @param {string} name of a column or table, as people write words */
export const words = (name) => name.replaceAll(/[_-]/g, ' ').replace(/^./, (first) => first.toUpperCase());

/**
 * How the cells of a table are shown.
 * @param {Table} table @param {readonly Row[]} rows
 */
export const cellsOf = ({ columns, key }, rows) => {
  // Years, and numbers that are names, are written without separators.
  const names = new Set([...key, ...timesOf(columns, rows).map(({ name }) => name)]);
  return (/** @type {Row} */ row, /** @type {Column} */ { name }) => {
    const value = row[name];
    if (value === null || value === undefined) return h('span', { class: 'muted' }, '–');
    if (typeof value === 'boolean') return value ? 'yes' : 'no';
    return typeof value === 'number' && !names.has(name) ? exact(value) : String(value);
  };
};

/** @param {Table} table @param {Row} row */
const rowAddress = ({ name, key }, row) => addressOf([name, ...key.map((field) => String(row[field]))]);

/**
 * @param {Table} table @param {URLSearchParams} chosen @param {readonly Row[]} rows whose values are offered
 * @param {() => void} onchange
 */
const filterFields = ({ columns, filters }, chosen, rows, onchange) =>
  filters.map((name) => {
    const column = columns.find((each) => each.name === name);
    const kind = column?.kind ?? 'text';
    const field = (
      /** @type {string} */ parameter,
      /** @type {string} */ label,
      /** @type {string | undefined} */ list,
    ) => {
      const input = h('input', {
        id: `by-${parameter}`,
        type: kind === 'date' ? 'date' : kind === 'number' ? 'number' : 'text',
        step: kind === 'number' ? 'any' : undefined,
        value: chosen.get(parameter) ?? '',
        list,
        autocomplete: 'off',
      });
      input.addEventListener('change', () => {
        if (input.value === '') chosen.delete(parameter);
        else chosen.set(parameter, input.value);
        keepInAddress({ [parameter]: input.value });
        onchange();
      });
      return h(
        'div',
        {},
        h('label', { for: `by-${parameter}`, title: column?.description || undefined }, label),
        input,
      );
    };
    if (kind !== 'text') {
      return [
        field(`${name}_from`, `${words(name)} from`, undefined),
        field(`${name}_to`, `${words(name)} to`, undefined),
      ];
    }
    const values = [...new Set(rows.map((row) => String(row[name] ?? '')))].sort();
    return [
      field(name, words(name), `values-${name}`),
      h('datalist', { id: `values-${name}` }, ...values.slice(0, 200).map((value) => h('option', { value }))),
    ];
  });

/** How many rows: what a chart shows where no column is a number, or the reader asks for it. */
const COUNT = 'rows';

/**
 * The chart of a table, where it has a time.
 * @param {Table} table @param {URLSearchParams} query @param {AbortSignal} signal
 * @param {{ title: string, calls: () => string[] }} of
 */
const timeChart = (table, query, signal, { title, calls }) => {
  const place = h('div');
  const next = latestOf(signal);
  /** @type {readonly Row[]} */
  let rows = [];
  const { form = '', time = '', value = '', by = '' } = Object.fromEntries(query);
  const chosen = { form, time, value, by };

  const show = () => {
    const shown = next();
    const { times, numbers, groups, first } = chartChoices(table, rows);
    if (times.length === 0) return place.replaceChildren();
    const named = (/** @type {readonly Column[]} */ columns, /** @type {string} */ name) =>
      columns.find((column) => column.name === name)?.name;
    const now = {
      time: named(times, chosen.time) ?? first.time,
      value: chosen.value === COUNT ? null : (named(numbers, chosen.value) ?? first.value),
      by: chosen.by === COUNT ? null : (named(groups, chosen.by) ?? first.by),
      form: chosen.form === 'line' || chosen.form === 'bars' ? chosen.form : first.form,
    };
    // Bars beside each other are of one group.
    if (now.form === 'bars') now.by = null;
    const { dates, period, lines, left, means } = figuresOf(rows, now);
    const per = now.form === 'bars' || period !== 'day' ? ` by ${period}` : '';
    const what =
      now.value === null ? 'Number of rows' : means ? `Mean of ${words(now.value).toLowerCase()}` : words(now.value);
    /** @returns {import('../../pages/data-views/drawing.js').ChartOptions} */
    const options = () => ({
      label: `${what}${per} of ${words(now.time).toLowerCase()}.`,
      unit: what,
      dates,
      lines: lines.map(({ label, values }, index) => ({
        label: label || what,
        ...(label && { short: label }),
        values,
        color: lines.length > 1 ? `line-${index + 1}` : 'accent',
        bars: now.form === 'bars',
      })),
      dateText: (date) => periodText(date, period),
      valueText: (one) => (Number.isInteger(one) ? exact(one) : number(one, 2)),
    });
    const choose = (/** @type {Partial<typeof chosen>} */ change) => {
      Object.assign(chosen, change);
      keepInAddress(change);
      const focused = document.activeElement?.id;
      show();
      if (focused) document.getElementById(focused)?.focus();
    };
    const choices = h(
      'div',
      { class: 'switches' },
      choice({
        legend: 'As',
        name: 'form',
        choices: [
          ['line', 'Line'],
          ['bars', 'Bars'],
        ],
        value: now.form,
        onchange: (each) => choose({ form: each }),
      }),
      select(
        'value',
        'Values',
        [...numbers.map(({ name }) => /** @type {const} */ ([name, words(name)])), [COUNT, 'Number of rows']],
        now.value ?? COUNT,
        (each) => choose({ value: each }),
      ),
      times.length > 1
        ? select(
            'time',
            'Over',
            times.map(({ name }) => [name, words(name)]),
            now.time,
            (each) => choose({ time: each }),
          )
        : null,
      groups.length > 0 && now.form === 'line'
        ? select(
            'by',
            'A line for each',
            [[COUNT, 'None'], ...groups.map(({ name }) => /** @type {const} */ ([name, words(name)]))],
            now.by ?? COUNT,
            (each) => choose({ by: each }),
          )
        : null,
    );
    const made = options();
    place.replaceChildren(
      chartFigure({
        title: `${title}: ${what.toLowerCase()}${per}`,
        note: [
          means && `Each value is the mean of the rows of a ${period}.`,
          left > 0 && `The first ${LINES} of ${LINES + left} lines: filter for others.`,
        ]
          .filter(Boolean)
          .join(' '),
        chart: h('div', {}, choices, chart(made, shown)),
        picture: {
          title: `${title}: ${what.toLowerCase()}${per}`,
          file: table.name,
          options,
          credits: () => [document.querySelector('.brand')?.textContent ?? '', location.href],
        },
        sources: calls().map((target) => ({ label: table.name, target, file: table.name })),
        shown: {
          file: `${table.name}-${now.value ?? COUNT}.csv`,
          text: () => linesCsv(made, now.time),
        },
        table: linesTable(made, words(now.time)),
      }),
    );
  };
  return {
    element: place,
    show: (/** @type {readonly Row[]} */ some) => {
      rows = some;
      show();
    },
  };
};

/**
 * @param {Table} table
 * @returns {import('../../pages/data-views/router.js').Route}
 */
export const tableView = (table) => async (_parameters, signal, query) => {
  const target = () => {
    const asked = askedOf(table, query);
    return `/${table.name}${asked.size > 0 ? `?${asked}` : ''}`;
  };
  let { rows, more } = await firstRows(target(), signal);
  const count = h('p', { class: 'count muted', role: 'status' });
  const problem = h('p', { class: 'problem', role: 'alert' });
  const place = h('div', { class: 'rows' });
  const tools = h('div');
  const title = words(table.name);
  const figure = timeChart(table, query, signal, { title, calls: () => [target()] });
  let cell = cellsOf(table, rows);
  /** @type {import('../../pages/data-views/table.js').Column<Row>[]} */
  const columns = table.columns.map((column, index) => ({
    label: words(column.name),
    key: column.name,
    hint: column.description,
    numeric: column.kind === 'number',
    name: column.kind === 'date' ? 'date' : '',
    cell: (row) => (index === 0 ? h('a', { href: rowAddress(table, row) }, cell(row, column)) : cell(row, column)),
    value: (row) => {
      const value = row[column.name] ?? null;
      return typeof value === 'boolean' ? Number(value) : value;
    },
  }));
  /** Of more rows than are here, only the API can tell the first ones of an order. */
  const sortable = () =>
    columns.map((column) =>
      more && !table.sorts.some((sort) => sort.split(',')[0] === column.key) ? { ...column, value: undefined } : column,
    );
  const narrowed = () => found(rows, query.get('q') ?? '');

  const show = () => {
    const some = narrowed();
    const scrolled = place.querySelector('.scroll')?.scrollTop;
    place.replaceChildren(
      dataTable({
        caption: `The rows of ${title.toLowerCase()}.`,
        columns: sortable(),
        rows: some,
        sort: query.get('sort'),
        onsort: (sort) => {
          query.set('sort', sort);
          keepInAddress({ sort });
          if (more) void load();
          else showTools();
        },
        scrolls: true,
      }).element,
    );
    if (scrolled) place.querySelector('.scroll')?.scrollTo(0, scrolled);
    const searched = query.get('q') ? ` with “${query.get('q')}”` : '';
    count.textContent = more
      ? `${exact(some.length)} rows${searched} of the first ${exact(rows.length)}; filters lead to others`
      : `${exact(some.length)} ${some.length === 1 ? 'row' : 'rows'}${searched}`;
    showTools();
    figure.show(some);
  };
  const showTools = () => {
    replaceTools(tools, {
      sources: [{ label: table.name, target: target(), file: table.name }],
      remark: query.get('q') ? 'The search is of this page: the call and the CSV have the other rows too.' : '',
    });
  };
  const next = latestOf(signal);
  const load = async () => {
    const loading = next();
    problem.textContent = '';
    try {
      const loaded = await firstRows(target(), loading);
      if (loading.aborted) return;
      ({ rows, more } = loaded);
      cell = cellsOf(table, rows);
      show();
    } catch (error) {
      if (loading.aborted) return;
      if (!(error instanceof Problem)) throw error;
      problem.textContent = error.message;
    }
  };
  narrowBy(
    query.get('q') ?? '',
    (q) => {
      query.set('q', q);
      keepInAddress({ q });
      show();
    },
    signal,
  );
  const fields = filterFields(table, query, rows, () => void load());
  show();
  return {
    title,
    content: [h('div', { class: 'row filters' }, ...fields.flat(), count), problem, place, tools, figure.element],
  };
};

/** @param {Table} table @param {readonly string[]} key */
export const targetOf = ({ name }, key) => `/${[name, ...key].map(encodeURIComponent).join('/')}`;
