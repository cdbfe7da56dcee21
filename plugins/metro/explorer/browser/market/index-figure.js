/** The index of a market with its forecast: as levels, as yearly changes, or in real terms. */
import { keepInAddress } from '../../../../pages/data-views/address.js';
import { chart } from '../../../../pages/data-views/chart.js';
import { checkBox, choice, spanChoice } from '../../../../pages/data-views/controls.js';
import { chartFigure } from '../../../../pages/data-views/figure.js';
import { latestOf, showLatest } from '../../../../pages/data-views/latest.js';
import { column, numbers } from '../../../../pages/data-views/table.js';
import { h } from '../../../../pages/shared/dom.js';
import { day, exact, percent, quarter } from '../../../../pages/shared/format.js';
import { plainName } from '../search.js';
import { creditsOf } from './context.js';
import { DEFAULT_YEARS, dataOf, optionsOf } from './index-options.js';

/**
 * @typedef {import('./context.js').Context} Context
 * @typedef {import('./index-options.js').Choices} Choices
 */

/** @type {readonly (readonly [Choices['show'], string])[]} */
const SHOWN = [
  ['level', 'Index'],
  ['change', 'Yearly change'],
  ['real', 'Real terms'],
];

/** @param {URLSearchParams} query @returns {Choices} */
const choicesOf = (query) => ({
  show: SHOWN.find(([each]) => each === query.get('show'))?.[0] ?? 'level',
  years: Number(query.get('years') ?? DEFAULT_YEARS),
  withOthers: query.get('beside') === 'nation',
});

/** @param {import('./index-options.js').Fan} fan @param {Context['newest']} newest */
const noteOf = (fan, newest) =>
  fan && newest
    ? `From ${quarter(fan.start)}, the run of ${day(newest.run_at)} expects ${percent(newest.point)} by ${quarter(newest.target_period)}. It forecasts only that quarter: the line to it is straight.`
    : 'There is no current forecast for this market.';

/** @param {Choices} chosen @param {(change: Partial<Choices>) => void} choose */
const controlsOf = (chosen, choose) => {
  const others = checkBox('beside', 'Nation and state', chosen.withOthers, (isChecked) =>
    choose({ withOthers: isChecked }),
  );
  return {
    element: h(
      'div',
      { class: 'switches' },
      choice({
        legend: 'Show',
        name: 'show',
        choices: SHOWN,
        value: chosen.show,
        onchange: (show) => choose({ show }),
      }),
      spanChoice(chosen.years, (years) => choose({ years })),
      others.element,
    ),
    /** The nation and the state have yearly changes only. */
    update: () => {
      others.element.hidden = chosen.show !== 'change';
    },
  };
};

/** @param {Context} context */
export const indexFigure = (context) => {
  const { market, history, newest, signal, query } = context;
  const data = dataOf(context);
  if (!data) return h('p', { class: 'notice' }, 'No index has been published for this market yet.');
  const chosen = choicesOf(query);
  const place = h('div');
  const next = latestOf(signal);
  /** @type {import('../../../../pages/data-views/drawing.js').ChartOptions | undefined} */
  let options;
  const show = () => {
    controls.update();
    const load = () => optionsOf(context, data, chosen);
    void showLatest(next, place, load, (made, shown) => {
      options = made;
      place.replaceChildren(chart(made, shown));
    });
  };
  const controls = controlsOf(chosen, (change) => {
    Object.assign(chosen, change);
    keepInAddress({
      show: chosen.show === 'level' ? null : chosen.show,
      years: chosen.years === DEFAULT_YEARS ? null : String(chosen.years),
      beside: chosen.withOthers ? 'nation' : null,
    });
    show();
  });
  show();
  const [path, file] = [`/markets/${market.cbsa}`, `${market.cbsa}-index`];
  return chartFigure({
    title: 'Index and forecast',
    note: h('p', { class: 'muted' }, noteOf(data.fan, newest)),
    chart: h('div', {}, controls.element, place),
    picture: {
      title: `House prices in ${plainName(market.name)}`,
      file,
      options: () => /** @type {import('../../../../pages/data-views/drawing.js').ChartOptions} */ (options),
      credits: () => creditsOf(context),
    },
    sources: [
      { label: 'index', target: `${path}/history`, file },
      { label: 'forecasts', target: `${path}/forecast-track`, file: `${market.cbsa}-forecasts` },
    ],
    table: {
      rows: history,
      columns: [column('Quarter', (row) => row.period_start, quarter), numbers('Index', ({ value }) => value, exact)],
    },
  });
};
