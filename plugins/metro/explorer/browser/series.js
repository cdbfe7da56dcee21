import { keepInAddress } from '../../../../core/pages/data-views/address.js';
import { chart } from '../../../../core/pages/data-views/chart.js';
import { lastYears, spanChoice } from '../../../../core/pages/data-views/controls.js';
import { changingFigure, dataTools } from '../../../../core/pages/data-views/figure.js';
import { latestOf } from '../../../../core/pages/data-views/latest.js';
import { column, dataTable, numbers } from '../../../../core/pages/data-views/table.js';
import { getJson, Problem } from '../../../../core/pages/shared/api.js';
import { h } from '../../../../core/pages/shared/dom.js';
import { day, exact, period, periodInWords } from '../../../../core/pages/shared/format.js';
import { catalog, creditOf, HPI, seriesOf } from './catalog.js';
import { monthsBetween, yearEarlier } from './market-figures.js';
import { recessions } from './recessions.js';

/** @import { Series } from '../../client/api-types.js' */
/** @import { Observation } from './market-figures.js' */

/** @type {import('../../../../core/pages/data-views/table.js').Column<Series>[]} */
const COLUMNS = [
  {
    label: 'Series',
    // The series of the metro index contains all markets, so its link opens the list of markets.
    cell: ({ series_id, title, kind, units, source }) => [
      h('a', { href: kind === 'metro' ? '#/markets' : `#/series/${encodeURIComponent(series_id)}` }, title),
      h('small', { class: 'muted narrow' }, `${units}. ${source}`),
    ],
    value: ({ title }) => title,
    name: 'named',
  },
  column(
    'Identifier',
    ({ series_id }) => series_id,
    (id) => h('code', { class: 'date' }, id),
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

/** @type {import('../../../../core/pages/data-views/router.js').Route} */
export const seriesView = (parameters, signal, query) =>
  parameters[0] ? oneSeries(parameters[0], signal, query) : allSeries(query);

/** @param {readonly Series[]} rows */
const findingOnSeries = (rows) => {
  const [newest] = rows.toSorted((a, b) => ((a.observation_end ?? '') < (b.observation_end ?? '') ? 1 : -1));
  const upTo = newest?.observation_end
    ? `, with data up to ${periodInWords(newest.observation_end, newest.cadence)}`
    : '';
  return `${rows.length} series on house prices and the economy${upTo}`;
};

/** @param {URLSearchParams} query */
const allSeries = async (query) => {
  const rows = await catalog();
  return {
    title: findingOnSeries(rows),
    name: 'Series',
    question: 'Which series does the service publish, and how recent are they?',
    series: [HPI],
    content: [
      dataTools({ sources: [{ label: 'series', target: '/series', file: 'series' }] }),
      rows.length > 0
        ? dataTable({
            caption: 'All published series.',
            columns: COLUMNS,
            rows,
            sort: query.get('sort') ?? '-newest',
            onsort: (sort) => keepInAddress({ sort }),
          }).element
        : h('p', { class: 'notice' }, 'The dataset has no series yet.'),
    ],
  };
};

/** Months per period. For other cadences, such as weekly, a chart does not show missing periods as gaps. */
const MONTHS = new Map([
  ['monthly', 1],
  ['quarterly', 3],
  ['semiannual', 6],
  ['annual', 12],
  ['five-year', 60],
]);

/** @param {readonly Observation[]} rows @param {string} cadence */
const periodsOf = (rows, cadence) => {
  const known = new Map(rows.map(({ period_start, value }) => [period_start, value]));
  const step = MONTHS.get(cadence);
  const [first, last] = [rows[0], rows.at(-1)];
  const periods = step && first && last ? monthsBetween(first.period_start, last.period_start, step) : [];
  // Observations on unexpected days are added, so that the chart shows every observation.
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

const DEFAULT_YEARS = 20;

/**
 * @param {Series} series @param {readonly Observation[]} rows
 * @param {{ query: URLSearchParams, signal: AbortSignal, source: { label: string, target: string, file: string } }}
 *   options
 */
const seriesFigure = (series, rows, { query, signal, source }) => {
  const { dates, values } = periodsOf(rows, series.cadence);
  let years = Number(query.get('years') ?? DEFAULT_YEARS);
  /** @returns {import('../../../../core/pages/data-views/drawing.js').ChartOptions} */
  const options = () => ({
    label: `${series.title}, ${series.units}.`,
    unit: unitOf(series),
    dates,
    from: lastYears(dates, years),
    lines: [{ label: series.title, values, color: 'accent' }],
    shades: recessions,
    dateText: day,
    valueText: exact,
  });
  const place = h('div');
  const next = latestOf(signal);
  const show = () => {
    const from = lastYears(dates, years);
    const isWhole = from === undefined || from <= `${dates[0]}`;
    const shown = isWhole ? rows : rows.filter(({ period_start }) => period_start >= from);
    place.replaceChildren(chart(options(), next()));
    figure.show({
      title: isWhole ? 'All observations' : `Observations of the last ${years} years`,
      picture: {
        title: findingOf(series, rows),
        file: source.file,
        options,
        credits: () => [creditOf(series), ...(series.notes ? [series.notes] : []), location.href],
      },
      publishers: [series.source],
      sources: [isWhole ? source : { ...source, target: `${source.target}&since=${from}` }],
      table: {
        rows: shown.toReversed(),
        columns: [column('Date', (row) => row.period_start), numbers('Value', ({ value }) => value, exact)],
      },
    });
  };
  const span = spanChoice(years, dates, (chosen) => {
    years = chosen;
    keepInAddress({ years: String(years) });
    show();
  });
  const figure = changingFigure({
    title: 'Observations',
    note: '',
    chart: h('div', h('div', { class: 'switches' }, span), place),
  });
  show();
  return figure.element;
};

/** @param {Series} series @param {readonly Observation[]} rows */
const findingOf = ({ title, cadence, units }, rows) => {
  const last = rows.at(-1);
  if (!last) return title;
  const before = yearEarlier(rows, cadence);
  const text = (/** @type {number} */ value) => `${exact(value)}${units === 'Percent' ? '%' : ''}`;
  const now = text(last.value);
  const then = before && text(before.value);
  const direction = before && (last.value > before.value ? `up from ${then}` : `down from ${then}`);
  const from =
    then === undefined ? '' : then === now ? ', the same as a year earlier' : `, ${direction} a year earlier`;
  const preposition = period(last.period_start, cadence) === day(last.period_start) ? 'on' : 'in';
  return `${title}: ${now} ${preposition} ${periodInWords(last.period_start, cadence)}${from}`;
};

/** @param {string} id @param {AbortSignal} signal @param {URLSearchParams} query */
const oneSeries = async (id, signal, query) => {
  const series = await seriesOf(id);
  if (!series) {
    throw new Problem(`There is no series ${id}. /series lists all of them.`, { status: 404, code: 'no_view' });
  }
  const target = `/observations?series_id=${encodeURIComponent(id)}`;
  const { data } = await getJson(target, { signal });
  const rows = /** @type {Observation[]} */ (data);
  const last = rows.at(-1);
  const source = { label: 'observations', target, file: id };
  return {
    title: findingOf(series, rows),
    name: series.title,
    question: `How has this series changed over time? (${unitOf(series)})`,
    about: [
      `${series.source}, ${series.cadence}, up to ${last ? periodInWords(last.period_start, series.cadence) : '–'}`,
    ],
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
      rows.length === 0
        ? h('p', { class: 'notice' }, 'This series has no observations.')
        : seriesFigure(series, rows, { query, signal, source }),
    ],
  };
};
