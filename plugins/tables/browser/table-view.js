import { keepInAddress, setChoices } from '../../../core/pages/data-views/address.js';
import { choice } from '../../../core/pages/data-views/controls.js';
import { replaceTools, sourceLine } from '../../../core/pages/data-views/figure.js';
import { latestOf } from '../../../core/pages/data-views/latest.js';
import { loadModule, retitle } from '../../../core/pages/data-views/router.js';
import { narrowBy, searchField } from '../../../core/pages/data-views/search-field.js';
import { h, ownerName } from '../../../core/pages/shared/dom.js';
import { onceEach } from '../../../core/pages/shared/once.js';
import { problemView } from '../../../core/pages/shared/problems.js';
import { words } from './cells.js';
import { chipsOf, filtersText, noRows } from './chips.js';
import { columnChoice } from './columns.js';
import { expandFilters, listTarget, matchingOf } from './conditions.js';
import { countText, filteredTitleOf, knownCount, titleOf } from './count-text.js';
import { facetPanel } from './facets.js';
import { categoryOf, contentOf, factsOf } from './finding.js';
import { FIRST_PAGE, rowList } from './row-list.js';
import { countOf, sampleOf } from './rows.js';
import { timesOf } from './time-figures.js';

/** @import { Page } from './row-list.js' */
/** @import { Table } from './tables.js' */

/**
 * @typedef {(change: Record<string, string>) => void} Change
 * @typedef {{ element: HTMLElement, show: () => void | Promise<void>, button?: HTMLElement }} Part
 */

/** @param {Table} table @param {URLSearchParams} query @param {AbortSignal} signal */
const counter = (table, query, signal) => {
  const sentence = h('span');
  const element = h('p', { class: 'count', role: 'status' });
  const next = latestOf(signal);
  /** @type {Parameters<typeof countText>[0]} */
  let state = {};
  const once = onceEach();
  const total = () => once('total', () => countOf(table, new URLSearchParams(), signal));
  const isFiltered = () => matchingOf(table, query).size > 0;
  /** @type {import('./count-text.js').Facts | undefined} */
  let facts;
  let finding = '';
  const title = (/** @type {import('./count-text.js').Facts} */ known) =>
    finding || (isFiltered() ? filteredTitleOf(table, known, knownCount(state)) : titleOf(table, known));
  const change = (/** @type {typeof state} */ changed) => {
    state = { ...state, ...changed };
    element.textContent = countText(state, isFiltered());
    sentence.textContent = filtersText(table, query, knownCount(state)) || contentOf(table);
    if (facts && knownCount(state) !== undefined) retitle(title(facts));
  };
  /** @param {string} text finding of the chart shown, or an empty text if no chart is shown */
  const showFinding = (text) => {
    finding = text;
    if (facts) retitle(title(facts));
  };
  return {
    element,
    sentence,
    total,
    /** @param {import('./count-text.js').Facts} known */
    title: (known) => {
      facts = known;
      return title(known);
    },
    showFinding,
    /** @param {string} tab */
    showTab: (tab) => {
      if (tab !== 'rows') change({ page: undefined });
      if (tab !== 'time') showFinding('');
    },
    /** @param {Page} page */
    showPage: (page) => change({ page }),
    show: async () => {
      const loading = next();
      state = {};
      const count = await (isFiltered() ? countOf(table, query, loading) : total()).catch(() => null);
      if (!loading.aborted) change({ count });
    },
  };
};

/**
 * @param {Table} table @param {URLSearchParams} query
 * @param {{ signal: AbortSignal, keep: Change, onshow: (page: Page) => void }} options @returns {Part}
 */
const rowsPart = (table, query, { signal, keep, onshow }) => {
  const tools = h('div');
  const list = rowList(table, query, {
    signal,
    keep,
    empty: () => noRows(table, query),
    onshow: (page) => {
      onshow(page);
      replaceTools(tools, {
        sources: [{ label: table.name, target: listTarget(table, query), file: table.name }],
        title: words(table.name),
        remark: '',
      });
    },
  });
  const columns = columnChoice(table, query, (names) => {
    keep({ columns: names });
    void list.show();
  });
  return { element: h('div', tools, columns.element, list.element), show: list.show, button: columns.button };
};

const TYPING_PAUSE_MS = 200;

/** @param {URLSearchParams} query @param {AbortSignal} signal @param {Change} choose */
const searchWhileTyping = (query, signal, choose) => {
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let typing;
  const onquery = (/** @type {string} */ q) => {
    clearTimeout(typing);
    typing = setTimeout(() => choose({ q }), TYPING_PAUSE_MS);
  };
  narrowBy(query.get('q') ?? '', onquery, signal);
  signal.addEventListener('abort', () => clearTimeout(typing));
};

/** @type {readonly (readonly [tab: string, label: string])[]} */
const TABS = [
  ['rows', 'Rows'],
  ['totals', 'Totals'],
  ['time', 'Over time'],
];

/** @param {Table} table @returns {import('../../../core/pages/data-views/router.js').Route} */
export const tableView = (table) => async (_parameters, signal, query) => {
  const ignored = expandFilters(table, query);
  const sample = await sampleOf(table);
  const times = timesOf(table.columns, sample);
  const time = times.find(({ kind }) => kind === 'date') ?? times[0];
  const count = counter(table, query, signal);
  const facts = factsOf(table, { time, group: categoryOf(table, sample) }, count.total(), signal);
  const tabs = TABS.filter(([tab]) => tab !== 'time' || time !== undefined);
  const tab = () => tabs.find(([each]) => each === query.get('tab'))?.[0] ?? 'rows';
  /** @type {Change} */
  const keep = (change) => {
    setChoices(query, change);
    keepInAddress(change);
  };
  /** @type {Change} */
  const choose = (change) => {
    if (change['q'] === '') searchField().value = '';
    keep({ ...change, ...FIRST_PAGE });
    showAll();
  };
  const [bar, chips, place] = [h('div', { class: 'list-bar' }), h('div', { class: 'chips' }), h('div')];
  const panel = facetPanel(table, query, { signal, sample, choose });
  /** @type {Readonly<Record<string, () => Part | Promise<Part>>>} */
  const parts = {
    rows: () => rowsPart(table, query, { signal, keep, onshow: count.showPage }),
    totals: async () =>
      (await loadModule(() => import('./totals.js'))).totalsView(table, query, { signal, sample, keep, choose }),
    time: async () =>
      (await loadModule(() => import('./time-chart.js'))).timeChart(table, query, {
        ...{ signal, sample, keep },
        onfinding: (finding) => tab() === 'time' && count.showFinding(finding),
      }),
  };
  const once = onceEach();
  /** @param {string} name @returns {Promise<Part | undefined>} */
  const partOf = (name) =>
    once(name, async () => parts[name]?.()).catch((error) => ({
      element: problemView(error, () => void showTab()),
      show: () => undefined,
    }));
  const showTab = async () => {
    const name = tab();
    const part = await partOf(name);
    if (!part || name !== tab()) return;
    place.replaceChildren(part.element);
    bar.replaceChildren(switcher, count.element, part.button ?? '');
    count.showTab(name);
    await part.show();
  };
  const showAll = async () => {
    chips.replaceChildren(...chipsOf(table, query, choose));
    panel.show();
    await Promise.all([count.show(), showTab()]);
  };
  const switcher = choice({
    legend: 'Show',
    name: 'tab',
    choices: tabs,
    value: tab(),
    onchange: (name) => {
      keep({ tab: name === 'rows' ? '' : name });
      void showTab();
    },
  });
  searchWhileTyping(query, signal, choose);
  await showAll();
  const rows = h('div', bar, chips, place, sourceLine([ownerName()]));
  const main = h('div', { class: 'browse' }, panel.element, rows);
  const title = count.title(await facts);
  return { title, question: count.sentence, name: words(table.name), ignored, content: [main] };
};
