import { listIn } from '../../pages/data-views/address.js';
import { bar } from '../../pages/data-views/bars.js';
import { select } from '../../pages/data-views/controls.js';
import { dataTools } from '../../pages/data-views/figure.js';
import { latestOf, showLatest } from '../../pages/data-views/latest.js';
import { dataTable, numbers } from '../../pages/data-views/table.js';
import { Problem } from '../../pages/shared/api.js';
import { h } from '../../pages/shared/dom.js';
import { exact, number } from '../../pages/shared/format.js';
import { cellsOf, decimalsOf } from './cells.js';
import { matchingOf, toggled } from './conditions.js';
import { totalsOf } from './rows.js';

/**
 * @typedef {import('./tables.js').Table} Table
 * @typedef {import('./tables.js').Column} Column
 * @typedef {import('./time-figures.js').Row} Row
 * @typedef {{ groups: readonly Column[], of: Column | undefined }} Choice
 */

/** @type {readonly (readonly [measure: string, label: string])[]} */
const MEASURES = [
  ['mean', 'Mean'],
  ['sum', 'Sum'],
  ['min', 'Minimum'],
  ['max', 'Maximum'],
];

/** @param {Table} table */
const offerOf = ({ columns, filters, key }) => {
  const groups = columns.filter(({ name }) => filters.includes(name) && !(key.length === 1 && key[0] === name));
  const isCategory = (/** @type {Column} */ { kind }) => kind === 'text' || kind === 'boolean';
  return {
    groups: groups.length > 0 ? groups : columns,
    // Prefers a column whose values are likely to repeat.
    first: groups.find(isCategory) ?? groups[0] ?? columns[0],
    numbers: columns.filter(({ name, kind }) => kind === 'number' && filters.includes(name) && !key.includes(name)),
  };
};

/** @param {ReturnType<typeof offerOf>} offer @param {URLSearchParams} query @returns {Choice} */
const choiceIn = ({ groups, first, numbers }, query) => {
  const named = listIn(query.get('totals')).flatMap((name) => groups.find((each) => each.name === name) ?? []);
  return {
    groups: named.length > 0 ? [...new Set(named)].slice(0, 2) : first ? [first] : [],
    of: numbers.find(({ name }) => name === query.get('of')),
  };
};

/** @param {readonly Column[]} columns @returns {(readonly [string, string])[]} */
const optionsFor = (columns) => columns.map(({ name, label }) => [name, label]);

/** Minimum number of significant digits shown in means. */
const DIGITS = 4;

/** Returns the number of decimals for means. @param {readonly number[]} values */
const meanDecimals = (values) => {
  const most = Math.max(...values.map(Math.abs), 0);
  const whole = most === 0 ? 1 : Math.floor(Math.log10(most)) + 1;
  return Math.min(Math.max(DIGITS - whole, 0), decimalsOf(values, 6));
};

/**
 * @param {Table} table @param {Choice} choice @param {readonly Row[]} rows
 * @param {(column: Column, value: string | null) => void} onpick
 */
const columnsOf = ({ key, measures }, { groups, of }, rows, onpick) => {
  const cell = cellsOf({ columns: groups, key }, rows);
  const valueIn = (/** @type {Row} */ row, /** @type {string} */ measure) => {
    const value = row[measures[measure] ?? measure] ?? null;
    return value === null ? null : Number(value);
  };
  /** @param {string} measure @param {string} label @param {boolean} isDrawn */
  const measureColumn = (measure, label, isDrawn) => {
    const values = rows.map((row) => valueIn(row, measure)).filter((value) => value !== null);
    const decimals = measure === 'mean' ? meanDecimals(values) : decimalsOf(values, 6);
    const scale = { least: Math.min(0, ...values), most: Math.max(0, ...values), color: 'accent' };
    const made = numbers(
      label,
      (/** @type {Row} */ row) => valueIn(row, measure),
      (value) => number(value, decimals),
      {
        key: measure,
      },
    );
    const drawn = (/** @type {Row} */ row) => {
      const value = valueIn(row, measure);
      return [number(value, decimals), value === null ? null : bar(value, scale)];
    };
    return isDrawn ? { ...made, cell: drawn } : made;
  };
  return [
    ...groups.map((column) => ({
      label: column.label,
      key: column.name,
      name: 'short',
      numeric: column.kind === 'number',
      value: (/** @type {Row} */ row) => {
        const value = row[column.name] ?? null;
        return typeof value === 'boolean' ? Number(value) : value;
      },
      cell: (/** @type {Row} */ row) => {
        const value = row[column.name] ?? null;
        const text = value === null ? 'no value' : value === '' ? '(empty)' : cell(row, column);
        const pick = () => onpick(column, value === null ? null : String(value));
        return h('button', { class: 'value', type: 'button', onclick: pick }, text);
      },
    })),
    ...(of ? MEASURES.slice(0, 1).map(([measure, label]) => measureColumn(measure, label, true)) : []),
    measureColumn('count', 'Rows', !of),
    ...(of ? MEASURES.slice(1).map(([measure, label]) => measureColumn(measure, label, false)) : []),
  ];
};

/** @param {Choice} choice */
const titleOf = ({ groups, of }) =>
  `${of ? `Mean ${of.label.toLowerCase()}` : 'Rows'} by ${groups.map(({ label }) => label.toLowerCase()).join(' and ')}`;

/**
 * @param {ReturnType<typeof offerOf>} offer @param {Choice} choice
 * @param {(change: Record<string, string>) => void} change
 */
const controlsOf = (offer, { groups, of }, change) => {
  const [first, second] = groups.map(({ name }) => name);
  const group = (/** @type {(string | undefined)[]} */ ...names) => change({ totals: names.filter(Boolean).join() });
  const others = offer.groups.filter(({ name }) => name !== first);
  return [
    select('group', 'Group by', optionsFor(offer.groups), first ?? '', (name) =>
      group(name, second === name ? '' : second),
    ),
    select('group-2', 'and', [['', 'nothing else'], ...optionsFor(others)], second ?? '', (name) => group(first, name)),
    select('of', 'Values', [['', 'Number of rows'], ...optionsFor(offer.numbers)], of?.name ?? '', (name) =>
      change({ of: name }),
    ),
  ];
};

/**
 * Shows totals for each value of one or two columns.
 * @param {Table} table @param {URLSearchParams} query
 * @param {{ signal: AbortSignal, keep: (change: Record<string, string>) => void,
 *   choose: (change: Record<string, string>) => void }} options `keep` stores choices; `choose` changes the filters
 */
export const totalsView = (table, query, { signal, keep, choose }) => {
  const offer = offerOf(table);
  const next = latestOf(signal);
  const [controls, place] = [h('div', { class: 'switches' }), h('div', { class: 'totals' })];
  const parameters = () => {
    const { groups, of } = choiceIn(offer, query);
    const asked = matchingOf(table, query);
    asked.set('by', groups.map(({ name }) => name).join());
    if (of) asked.set('of', of.name);
    return asked;
  };
  const showControls = () => controls.replaceChildren(...controlsOf(offer, choiceIn(offer, query), change));
  const change = (/** @type {Record<string, string>} */ chosen) => {
    keep({ order: '', ...chosen });
    const focused = document.activeElement?.id;
    showControls();
    if (focused) document.getElementById(focused)?.focus();
    void show();
  };
  const read = async (/** @type {AbortSignal} */ loading) => {
    try {
      return await totalsOf(table, parameters(), loading);
    } catch (error) {
      if (error instanceof Problem && error.status === 400) return error;
      throw error;
    }
  };
  /** @param {readonly Row[]} rows */
  const render = (rows) => {
    const choice = choiceIn(offer, query);
    const title = titleOf(choice);
    const order = query.get('order') || (choice.of ? '-mean' : '-count');
    place.replaceChildren(
      h('h2', {}, title),
      h(
        'p',
        { class: 'muted' },
        `${exact(rows.length)} ${rows.length === 1 ? 'group' : 'groups'}, based on all matching rows. Click a value to filter by it.`,
      ),
      dataTable({
        caption: `${title}.`,
        columns: columnsOf(table, choice, rows, (column, value) => choose(toggled(query, column, value))),
        rows,
        sort: order,
        onsort: (sort) => keep({ order: sort }),
      }).element,
      dataTools({
        sources: [{ label: 'totals', target: `/totals/${table.name}?${parameters()}`, file: `${table.name}-totals` }],
      }),
    );
  };
  const show = () =>
    showLatest(next, place, read, (made) =>
      made instanceof Problem
        ? place.replaceChildren(h('p', { class: 'notice', role: 'alert' }, made.message))
        : render(made),
    );
  showControls();
  return { element: h('div', {}, controls, place), show };
};
