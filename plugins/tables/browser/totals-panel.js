import { bar } from '../../pages/data-views/bars.js';
import { select } from '../../pages/data-views/controls.js';
import { latestOf, showLatest } from '../../pages/data-views/latest.js';
import { dataTable } from '../../pages/data-views/table.js';
import { getJson, Problem } from '../../pages/shared/api.js';
import { h } from '../../pages/shared/dom.js';
import { exact, number } from '../../pages/shared/format.js';

/**
 * @typedef {import('./tables.js').Table} Table
 * @typedef {import('./row-figures.js').Row} Row
 */

const MAX_ROWS = 20;

/** @type {readonly (readonly [measure: string, label: string])[]} */
const MEASURES = [
  ['sum', 'Sum of'],
  ['mean', 'Mean of'],
  ['min', 'Minimum'],
  ['max', 'Maximum'],
];

/**
 * Returns the measure to show. The default is the number of rows.
 * @param {Table} table @param {string | null} show a measure and a column, such as `mean:price`
 */
const shownOf = ({ columns, measures }, show) => {
  const [measure = '', of = ''] = (show ?? '').split(':');
  const column = columns.find(({ name, kind }) => name === of && kind === 'number');
  const label = MEASURES.find(([each]) => each === measure)?.[1];
  return column && label
    ? {
        value: `${measure}:${of}`,
        field: measures[measure] ?? measure,
        of,
        label: `${label} ${column.label.toLowerCase()}`,
      }
    : { value: '', field: measures['count'] ?? 'count', of: undefined, label: 'Rows' };
};

/** @param {Table} table */
const choicesOf = ({ columns, key }) => {
  const groups = columns.filter(({ name, kind }) => kind !== 'number' || !key.includes(name));
  const numbers = columns.filter(({ name, kind }) => kind === 'number' && !key.includes(name));
  return {
    groups: groups.map(({ name, label }) => /** @type {const} */ ([name, label])),
    shows: [
      /** @type {const} */ (['', 'Number of rows']),
      ...numbers.flatMap(({ name, label }) =>
        MEASURES.map(
          ([measure, text]) => /** @type {const} */ ([`${measure}:${name}`, `${text} ${label.toLowerCase()}`]),
        ),
      ),
    ],
  };
};

/**
 * Returns the first column whose values are likely to repeat: text or boolean, and not the whole key.
 * @param {Table} table
 */
const firstGroup = ({ columns, key }) =>
  columns.find(({ name, kind }) => (kind === 'text' || kind === 'boolean') && !(key.length === 1 && key[0] === name))
    ?.name ?? '';

/**
 * Creates a panel with totals for each value of a column. Clicking a value filters the list.
 * @param {Table} table @param {URLSearchParams} query the query of the page address
 * @param {AbortSignal} signal
 * @param {object} options
 * @param {() => URLSearchParams} options.parameters returns the API parameters for the current filters and search
 * @param {(change: Record<string, string>) => void} options.keep stores choices in `query` and in the address
 * @param {(column: string, value: string) => void} options.onpick called when the user clicks a value
 */
export const totalsPanel = (table, query, signal, { parameters, keep, onpick }) => {
  const next = latestOf(signal);
  const place = h('div', { class: 'totals-rows' });
  const controls = h('div', { class: 'switches' });
  const choices = choicesOf(table);
  const by = () => choices.groups.find(([name]) => name === query.get('totals'))?.[0] ?? firstGroup(table);
  const shown = () => shownOf(table, query.get('show'));

  /** @param {readonly Row[]} rows */
  const tableOf = (rows) => {
    const { field, label } = shown();
    const name = by();
    const numbers = rows.map((row) => Number(row[field] ?? 0));
    const scale = { least: Math.min(0, ...numbers), most: Math.max(0, ...numbers), color: 'accent' };
    const text = (/** @type {number} */ value) => (Number.isInteger(value) ? exact(value) : number(value, 2));
    return dataTable({
      caption: `${label} by ${name}.`,
      columns: [
        {
          label: choices.groups.find(([each]) => each === name)?.[1] ?? name,
          cell: (row) => {
            const value = row[name] ?? null;
            if (value === null) return h('span', { class: 'muted' }, '–');
            return h(
              'button',
              { class: 'value', type: 'button', onclick: () => onpick(name, String(value)) },
              String(value) || '“”',
            );
          },
        },
        {
          label,
          numeric: true,
          cell: (row) => (row[field] === null ? '–' : [text(Number(row[field])), bar(Number(row[field]), scale)]),
        },
      ],
      rows,
    }).element;
  };

  const show = () =>
    showLatest(
      next,
      place,
      async (loading) => {
        const { field, of } = shown();
        const asked = parameters();
        asked.set('by', by());
        if (of) asked.set('of', of);
        asked.set('sort', `-${field}`);
        asked.set('limit', String(MAX_ROWS));
        try {
          return (await getJson(`/totals/${table.name}?${asked}`, { signal: loading })).data;
        } catch (error) {
          if (error instanceof Problem && error.status === 400) return error.message;
          throw error;
        }
      },
      (made) => place.replaceChildren(typeof made === 'string' ? h('p', { class: 'muted' }, made) : tableOf(made)),
    );

  const choose = (/** @type {Record<string, string>} */ change) => {
    keep(change);
    void show();
  };
  controls.append(
    select('totals', 'Totals by', choices.groups, by(), (name) => choose({ totals: name })),
    select('show', 'Show', choices.shows, shown().value, (value) => choose({ show: value })),
  );
  return {
    element: h('section', { class: 'totals', 'aria-label': 'Totals' }, h('h2', {}, 'Totals'), controls, place),
    show,
  };
};
