/** The catalogue of series, and one macro series as a chart. */

import { keepInAddress } from '../../../pages/data-views/address.js';
import { chart } from '../../../pages/data-views/chart.js';
import { lastYears, spanChoice } from '../../../pages/data-views/controls.js';
import { chartFigure, dataTools } from '../../../pages/data-views/figure.js';
import { latestOf } from '../../../pages/data-views/latest.js';
import { column, dataTable, numbers } from '../../../pages/data-views/table.js';
import { getJson, Problem } from '../../../pages/shared/api.js';
import { h } from '../../../pages/shared/dom.js';
import { day, exact, period } from '../../../pages/shared/format.js';
import { catalog, creditOf, HPI } from './catalog.js';
import { recessionsOf } from './index-data.js';
import { keyFigures } from './market.js';
import { monthsBetween } from './market-figures.js';

/** @typedef {import('./catalog.js').Series} Series */

/** @type {import('../../../pages/data-views/table.js').Column<Series>[]} */
const COLUMNS = [
  {
    label: 'Series',
    // The index of the metros is shown market by market.
    cell: ({ series_id, title, kind }) =>
      h('a', { href: kind === 'metro' ? '#/markets' : `#/series/${encodeURIComponent(series_id)}` }, title),
    value: ({ title }) => title,
    name: 'named',
  },
  column(
    'Identifier',
    ({ series_id }) => series_id,
    (id) => h('code', {}, id),
    { name: 'wide' },
  ),
  column('Cadence', ({ cadence }) => cadence),
  column('Units', ({ units }) => units, undefined, { name: 'wide' }),
  column('Source', ({ source }) => source, undefined, { name: 'wide' }),
  {
    label: 'Newest',
    cell: (row) => period(row.observation_end, row.cadence),
    value: (row) => row.observation_end,
    name: 'date',
  },
];

/** @type {import('../../../pages/data-views/router.js').Route} */
export const seriesView = (parameters, signal, query) =>
  parameters[0] ? oneSeries(parameters[0], signal, query) : allSeries(query);

/** @param {URLSearchParams} query */
const allSeries = async (query) => {
  const rows = await catalog();
  return {
    title: 'Series',
    series: [HPI],
    content: [
      rows.length > 0
        ? dataTable({
            caption: 'Every series that is published.',
            columns: COLUMNS,
            rows,
            sort: query.get('sort') ?? 'series',
            onsort: (sort) => keepInAddress({ sort }),
          }).element
        : h('p', { class: 'notice' }, 'The dataset has no series yet.'),
      dataTools({ sources: [{ label: 'series', target: '/series', file: 'series' }] }),
    ],
  };
};

/** Cadences whose periods the calendar tells: what is missing in them is shown as missing. */
const MONTHS = new Map([
  ['monthly', 1],
  ['quarterly', 3],
  ['annual', 12],
]);

/** @param {readonly import('./market-figures.js').Observation[]} rows oldest first @param {string} cadence */
const periodsOf = (rows, cadence) => {
  const known = new Map(rows.map(({ period_start, value }) => [period_start, value]));
  const step = MONTHS.get(cadence);
  const [first, last] = [rows[0], rows.at(-1)];
  const periods = step && first && last ? monthsBetween(first.period_start, last.period_start, step) : [];
  // Observations beside the cadence's own days are kept, whatever it says.
  const dates = [...new Set([...periods, ...known.keys()])].sort();
  return { dates, values: dates.map((date) => known.get(date) ?? null) };
};

const ADJUSTED = {
  SA: 'seasonally adjusted',
  NSA: 'not seasonally adjusted',
  SAAR: 'seasonally adjusted annual rate',
};

/** @param {Series} series */
const unitOf = ({ units, seasonal_adjustment }) =>
  [units, seasonal_adjustment && ADJUSTED[/** @type {'SA'} */ (seasonal_adjustment)]].filter(Boolean).join(', ');

/** @param {string} id @param {AbortSignal} signal @param {URLSearchParams} query */
const oneSeries = async (id, signal, query) => {
  const one = (await catalog()).find(({ series_id }) => series_id === id);
  if (!one)
    throw new Problem(`There is no series ${id}. The list of series has all.`, { status: 404, code: 'no_view' });
  const target = `/observations?series_id=${encodeURIComponent(id)}`;
  const [{ data }, recessions] = await Promise.all([getJson(target, { signal }), recessionsOf(signal)]);
  const rows = /** @type {import('./market-figures.js').Observation[]} */ (data);
  const { dates, values } = periodsOf(rows, one.cadence);
  let years = Number(query.get('years') ?? 20);
  /** @returns {import('../../../pages/data-views/drawing.js').ChartOptions} */
  const options = () => ({
    label: `${one.title}, ${one.units}.`,
    unit: unitOf(one),
    dates,
    from: lastYears(dates, years),
    lines: [{ label: one.title, values, color: 'accent' }],
    shades: recessions,
    dateText: day,
    valueText: exact,
  });
  const place = h('div');
  const next = latestOf(signal);
  const show = () => place.replaceChildren(chart(options(), next()));
  show();
  const span = spanChoice(years, (chosen) => {
    years = chosen;
    keepInAddress({ years: String(years) });
    show();
  });
  const last = rows.at(-1);
  return {
    title: one.title,
    series: [id],
    content: [
      h(
        'p',
        { class: 'muted' },
        `${id} · `,
        h('a', { href: '#/series' }, 'All series'),
        ' · ',
        h('a', { href: `#/compare?s=${encodeURIComponent(id)}` }, 'Compare'),
      ),
      keyFigures([
        ['Newest value', last ? exact(last.value) : '–'],
        ['Of', last ? period(last.period_start, one.cadence) : '–'],
        ['Cadence', one.cadence],
        ['Source', one.source],
      ]),
      rows.length === 0
        ? h('p', { class: 'notice' }, 'This series has no observations.')
        : chartFigure({
            title: 'Observations',
            note: unitOf(one),
            chart: h('div', {}, h('div', { class: 'switches' }, span), place),
            picture: {
              title: one.title,
              file: id,
              options,
              credits: () => [creditOf(one), ...(one.notes ? [one.notes] : []), location.href],
            },
            sources: [{ label: 'observations', target, file: id }],
            table: {
              rows: rows.toReversed(),
              columns: [column('Date', (row) => row.period_start), numbers('Value', ({ value }) => value, exact)],
            },
          }),
    ],
  };
};
