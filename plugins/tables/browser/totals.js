import { listIn } from '../../../core/pages/data-views/address.js';
import { select, choice as switchOf } from '../../../core/pages/data-views/controls.js';
import { dataTools } from '../../../core/pages/data-views/figure.js';
import { latestOf, showLatest } from '../../../core/pages/data-views/latest.js';
import { dataTable } from '../../../core/pages/data-views/table.js';
import { Problem } from '../../../core/pages/shared/api.js';
import { h, keepingFocus } from '../../../core/pages/shared/dom.js';
import { counted } from '../../../core/pages/shared/format.js';
import { inSentence, words } from './cells.js';
import { noRows } from './chips.js';
import { optionsFor } from './columns.js';
import { matchingOf, toggled } from './conditions.js';
import { categoryOf } from './finding.js';
import { rejectionOf, totalsOf } from './rows.js';
import { crossTable, isCrossable, listColumns } from './totals-tables.js';

/** @import { Column, Table } from './tables.js' */
/** @import { Row } from './time-figures.js' */
/** @import { Choice } from './totals-tables.js' */

/** @param {Table} table @param {readonly Row[]} sample */
const offerOf = (table, sample) => {
  const { columns, filters, key } = table;
  const groups = columns.filter(({ name }) => filters.includes(name) && !(key.length === 1 && key[0] === name));
  const isCategory = (/** @type {Column} */ { kind }) => kind === 'text' || kind === 'boolean';
  return {
    groups: groups.length > 0 ? groups : columns,
    first: categoryOf(table, sample) ?? groups.find(isCategory) ?? groups[0] ?? columns[0],
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

/** @type {readonly (readonly [layout: string, label: string])[]} */
const LAYOUTS = [
  ['cross', 'Cross table'],
  ['list', 'List'],
];

/** @param {boolean} isCross @param {(layout: string) => void} onchange */
const layoutSwitch = (isCross, onchange) =>
  switchOf({ legend: 'As', name: 'as', choices: LAYOUTS, value: isCross ? 'cross' : 'list', onchange });

/** @param {number} groups @param {boolean} isCross */
const noteOf = (groups, isCross) =>
  `${counted(groups, 'group')}, based on all matching rows. ${
    isCross ? 'The stronger the colour, the higher the value. ' : ''
  }Click a value to filter by it.`;

/** @param {Choice} choice */
const titleOf = ({ groups, of }) =>
  `${of ? `Mean ${inSentence(of.label)}` : 'Rows'} by ${groups.map(({ label }) => inSentence(label)).join(' and ')}`;

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
 * @param {Table} table @param {URLSearchParams} query
 * @param {{ signal: AbortSignal, sample: readonly Row[], keep: (change: Record<string, string>) => void, choose: (change:
 *   Record<string, string>) => void }} options
 */
export const totalsView = (table, query, { signal, sample, keep, choose }) => {
  const offer = offerOf(table, sample);
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
    keepingFocus(showControls);
    void show();
  };
  const read = (/** @type {AbortSignal} */ loading) => totalsOf(table, parameters(), loading).catch(rejectionOf);
  /** @param {readonly Row[]} rows */
  const render = (rows) => {
    if (rows.length === 0) return place.replaceChildren(noRows(table, query));
    const choice = choiceIn(offer, query);
    const title = titleOf(choice);
    const onpick = (/** @type {Column} */ column, /** @type {string | null} */ value) =>
      choose(toggled(query, column, value));
    const hasLayouts = isCrossable(choice, rows);
    const isCross = hasLayouts && query.get('as') !== 'list';
    const { order, ...content } = isCross
      ? { ...crossTable(table, choice, rows, onpick), order: null }
      : { columns: listColumns(table, choice, rows, onpick), rows, order: choice.of ? '-mean' : '-count' };
    const changeLayout = (/** @type {string} */ as) => {
      keep({ as: as === 'list' ? as : '', order: '' });
      render(rows);
    };
    place.replaceChildren(
      h('h2', title),
      h('p', { class: 'muted' }, noteOf(rows.length, isCross)),
      hasLayouts ? layoutSwitch(isCross, changeLayout) : '',
      dataTable({
        caption: `${title}.`,
        ...content,
        sort: query.get('order') ?? order,
        onsort: (sort) => keep({ order: sort }),
      }).element,
      dataTools({
        title: `${words(table.name)}: ${title}`,
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
  return { element: h('div', controls, place), show };
};
