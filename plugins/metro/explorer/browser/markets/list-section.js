import { keepInAddress } from '../../../../../core/pages/data-views/address.js';
import { replaceTools } from '../../../../../core/pages/data-views/figure.js';
import { h } from '../../../../../core/pages/shared/dom.js';
import { signalsNote } from '../basis.js';
import { toolsOf } from './downloads.js';
import { countOf, DEFAULT_SORT, filterFields, matches, sortField } from './filters.js';
import { marketList } from './list.js';
import { selectedRun } from './runs.js';
import { gradesText, mapTitle } from './texts.js';

/** @import { Choices } from './filters.js' */
/** @import { Row } from './runs.js' */

/**
 * @param {import('./view.js').Loaded} loaded
 * @param {{ chosen: Choices, choose: (change: Partial<Choices>) => void, signal: AbortSignal }} options
 */
export const listSection = (loaded, { chosen, choose, signal }) => {
  const { markets, runs, records, find } = loaded;
  const showTools = () => {
    const { run, until } = selectedRun(loaded, chosen);
    replaceTools(tools, { ...toolsOf(chosen, runs, list.rows), title: mapTitle(chosen.colour, run, until) });
  };
  const onsort = (/** @type {string} */ sort) => {
    chosen.sort = sort;
    keepInAddress({ sort: sort === DEFAULT_SORT ? null : sort });
    sorts.show(sort);
    showTools();
  };
  const onwhole = () => keepInAddress({ rows: 'all' });
  const list = marketList({ sort: chosen.sort, whole: chosen.all, onsort, onwhole }, signal);
  const sorts = sortField(chosen, (sort) => {
    list.sortBy(sort);
    onsort(sort);
  });
  const [tools, problem] = [h('div'), h('div')];
  const count = h('p', { class: 'count muted', role: 'status' });
  const meaning = h('p', { class: 'meaning muted' });
  const signals = h('p', { class: 'meaning muted' });
  const fields = h('div', { class: 'row filters' }, ...filterFields(markets, chosen, choose), sorts.element, count);
  return {
    filters: h('section', { class: 'narrowing', 'aria-label': 'Filters' }, fields, meaning),
    element: h('section', { class: 'list', 'aria-label': 'List' }, tools, problem, list.element, signals),
    problem,
    rows: list.rows,
    /** @param {readonly Row[]} rows */
    show: (rows) => {
      const found = new Set(find(chosen.q).map(({ cbsa }) => cbsa));
      const searched = rows.filter(({ cbsa }) => found.has(cbsa));
      const shown = searched.filter((row) => matches(row, chosen));
      list.show(shown);
      showTools();
      const { run } = selectedRun(loaded, chosen);
      signals.replaceChildren(
        'Below each forecast is its 80% band. Changes are since the previous run. ',
        ...signalsNote(run?.rules),
      );
      signals.hidden = shown.length === 0;
      meaning.textContent = gradesText(chosen, run, records);
      meaning.hidden = meaning.textContent === '';
      list.element.hidden = shown.length === 0;
      count.classList.toggle('notice', shown.length === 0);
      count.replaceChildren(...countOf(shown.length, searched.length, rows.length, chosen.q));
    },
    /** Must be called before `show`, see `setSparkQuarters`. @param {AbortSignal} shown */
    loadSparks: (shown) => list.setSparkQuarters(selectedRun(loaded, chosen).until, shown),
  };
};
