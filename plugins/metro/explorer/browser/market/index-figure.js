import { keepInAddress } from '../../../../../core/pages/data-views/address.js';
import { chart } from '../../../../../core/pages/data-views/chart.js';
import { checkBox, choice, spanChoice } from '../../../../../core/pages/data-views/controls.js';
import { changingFigure } from '../../../../../core/pages/data-views/figure.js';
import { latestOf, showLatest } from '../../../../../core/pages/data-views/latest.js';
import { column, numbers } from '../../../../../core/pages/data-views/table.js';
import { h } from '../../../../../core/pages/shared/dom.js';
import { day, percent, quarter, rounded } from '../../../../../core/pages/shared/format.js';
import { hasRealTerms, indexTarget } from '../index-data.js';
import { plainName } from '../search.js';
import { creditsOf, publishersOf } from './context.js';
import { DEFAULT_YEARS, dataOf, optionsOf } from './index-options.js';

/** @import { Context } from './context.js' */
/** @import { Choices, Fan } from './index-options.js' */

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

/** @param {Fan} fan @param {Context['newest']} newest */
const forecastText = (fan, newest) =>
  fan && newest
    ? `From ${quarter(fan.start)}, the run of ${day(newest.run_at)} expects ${percent(newest.point)} by ${quarter(newest.target_period)}. It forecasts only that quarter, so the line to it is straight.`
    : 'There is no current forecast for this market.';

/** @param {Fan} fan @param {Context} context */
const noteOf = (fan, { market, newest, track }) =>
  h(
    'span',
    `${forecastText(fan, newest)} `,
    track.length > 0
      ? h('a', { href: `#/markets/${market.cbsa}?figure=forecasts` }, 'Past forecasts and outcomes')
      : null,
  );

/** @param {Choices} chosen @param {readonly string[]} dates @param {(change: Partial<Choices>) => void} choose */
const controlsOf = (chosen, dates, choose) => {
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
      spanChoice(chosen.years, dates, (years) => choose({ years })),
      others.element,
    ),
    update: () => {
      others.element.hidden = chosen.show !== 'change';
    },
  };
};

/** @param {Context} context @param {Choices['show']} show */
const targetOf = ({ market: { cbsa }, series }, show) => {
  if (series && show === 'change') return indexTarget(series, cbsa, 'yoy');
  return series && show === 'real' && hasRealTerms(series)
    ? indexTarget(series, cbsa, 'real')
    : `/markets/${cbsa}/history`;
};

/**
 * @param {Context} context @param {Choices['show']} show
 * @param {import('../../../../../core/pages/data-views/drawing.js').ChartOptions} options
 */
const belowOf = (context, show, options) => {
  const { cbsa, name } = context.market;
  const file = show === 'level' ? `${cbsa}-index` : `${cbsa}-index-${show}`;
  return {
    picture: {
      title: `House prices in ${plainName(name)}`,
      file,
      options: () => options,
      credits: () => creditsOf(context),
    },
    publishers: publishersOf(context),
    sources: [
      { label: 'index', target: targetOf(context, show), file },
      { label: 'forecasts', target: `/markets/${cbsa}/forecast-track`, file: `${cbsa}-forecasts` },
    ],
    table: {
      rows: options.dates
        .flatMap((date, at) => {
          const value = options.lines[0]?.values[at] ?? null;
          return value === null ? [] : [{ date, value }];
        })
        .toReversed(),
      columns: [
        column('Quarter', (/** @type {{ date: string }} */ row) => row.date, quarter),
        numbers(
          `${new Map(SHOWN).get(show)}`,
          (/** @type {{ value: number }} */ row) => row.value,
          (value) => rounded(value, 8, 1),
        ),
      ],
    },
  };
};

/** @param {Context} context */
export const indexFigure = (context) => {
  const { signal, query } = context;
  const data = dataOf(context);
  if (!data) return h('p', { class: 'notice' }, 'No index has been published for this market yet.');
  const chosen = choicesOf(query);
  const place = h('div');
  const next = latestOf(signal);
  const show = () => {
    controls.update();
    const load = () => optionsOf(context, data, chosen);
    void showLatest(next, place, load, (options, shown) => {
      place.replaceChildren(chart(options, shown));
      figure.show(belowOf(context, chosen.show, options));
    });
  };
  const controls = controlsOf(chosen, data.dates, (change) => {
    Object.assign(chosen, change);
    keepInAddress({
      show: chosen.show === 'level' ? null : chosen.show,
      years: chosen.years === DEFAULT_YEARS ? null : String(chosen.years),
      beside: chosen.withOthers ? 'nation' : null,
    });
    show();
  });
  const figure = changingFigure({
    title: 'Index and forecast',
    note: noteOf(data.fan, context),
    chart: h('div', controls.element, place),
  });
  show();
  return figure.element;
};
