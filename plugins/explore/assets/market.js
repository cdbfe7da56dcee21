/** A market: its figures, its index with the forecast as a fan, and past forecasts against what came true. */
import { getJson } from './api.js';
import { HPI } from './catalog.js';
import { lineChart, rangedChart } from './chart.js';
import { h } from './dom.js';
import { chartFigure, dataTools } from './figure.js';
import { badge, day, exact, number, percent, points, quarter, share } from './format.js';
import { fanOf, scoreOf } from './market-figures.js';

/** @typedef {import('./market-figures.js').Track} Track */

/** @type {import('./table.js').Column<Track>[]} */
const TRACK_COLUMNS = [
  {
    label: 'Target',
    cell: ({ target_period }) => quarter(target_period),
    value: ({ target_period }) => target_period,
    name: 'date',
  },
  { label: 'Run', cell: ({ run_at }) => day(run_at), value: ({ run_at }) => run_at, name: 'date' },
  { label: 'Forecast %', cell: ({ point }) => exact(point), value: ({ point }) => point, numeric: true },
  { label: 'Lower 80', cell: ({ lower_80 }) => exact(lower_80), numeric: true },
  { label: 'Upper 80', cell: ({ upper_80 }) => exact(upper_80), numeric: true },
  { label: 'Came true %', cell: ({ realized }) => exact(realized), value: ({ realized }) => realized, numeric: true },
  { label: 'Error pp', cell: ({ error_pp }) => exact(error_pp), value: ({ error_pp }) => error_pp, numeric: true },
];

/** @param {readonly [string, import('./dom.js').Child][]} figures */
export const keyFigures = (figures) =>
  h('dl', { class: 'figures' }, ...figures.map(([name, value]) => h('div', {}, h('dt', {}, name), h('dd', {}, value))));

/** @type {import('./router.js').Route} */
export const marketView = async ([cbsa = ''], signal) => {
  const path = `/markets/${encodeURIComponent(cbsa)}`;
  const [market, { data: history }, { data: track }] = await Promise.all(
    [path, `${path}/history`, `${path}/forecast-track`].map((target) => getJson(target, { signal })),
  );
  const newest = /** @type {Track | undefined} */ (track.at(-1));
  const sources = [
    { label: 'index', target: `${path}/history`, file: `${cbsa}-index` },
    { label: 'forecasts', target: `${path}/forecast-track`, file: `${cbsa}-forecasts` },
  ];
  return {
    title: market.name,
    series: [HPI],
    content: [
      h('p', { class: 'muted' }, `CBSA ${market.cbsa} · `, h('a', { href: '#/markets' }, 'All markets')),
      keyFigures([
        ['Forecast, 12 months', percent(market.forecast_12m)],
        [
          '80% band',
          newest && newest.lower_80 !== null ? `${percent(newest.lower_80)} to ${percent(newest.upper_80)}` : '–',
        ],
        ['Last 12 months', percent(market.yoy_price)],
        ['Signal', badge(market.signal)],
        ['Risk grade', badge(market.risk_score)],
      ]),
      fanFigure(market.name, history, newest, sources, signal),
      trackFigure(market.name, track, sources.slice(1), signal),
    ],
  };
};

/**
 * @param {string} name
 * @param {import('./market-figures.js').Observation[]} history
 * @param {Track | undefined} newest
 * @param {import('./figure.js').Source[]} sources
 * @param {AbortSignal} signal
 */
const fanFigure = (name, history, newest, sources, signal) => {
  const fan = fanOf(history, newest);
  if (!fan) return h('p', { class: 'notice' }, 'No index has been published for this market yet.');
  const forecast = fan.start !== undefined && newest;
  const note = forecast
    ? `From ${quarter(fan.start ?? '')}, the run of ${day(newest.run_at)} expects ${percent(newest.point)} by ${quarter(newest.target_period)}. It forecasts that quarter alone: the way there is drawn straight.`
    : 'There is no current forecast for this market.';
  /** @type {import('./chart.js').Line[]} */
  const lines = [{ label: 'Index', values: fan.index, color: 'actual', style: 'solid' }];
  if (forecast) {
    lines.push(
      { label: 'Forecast', values: fan.point, color: 'accent', style: 'dashed' },
      { label: 'Upper 80%', values: fan.upper, color: 'accent', style: 'none' },
      { label: 'Lower 80%', values: fan.lower, color: 'accent', style: 'none' },
    );
  }
  const chart = rangedChart(
    {
      label: `Index of house prices in ${name}${forecast ? ', with its forecast' : ''}.`,
      dates: fan.dates,
      lines,
      ...(forecast && newest.lower_80 !== null ? { band: { upper: 2, lower: 3, label: '80% band' } } : {}),
      dateText: quarter,
      valueText: (value) => number(value),
    },
    signal,
  );
  return chartFigure({
    title: 'Index and forecast',
    note,
    chart,
    sources,
    table: {
      rows: history,
      columns: [
        { label: 'Quarter', cell: (row) => quarter(row.period_start), value: (row) => row.period_start },
        { label: 'Index', cell: ({ value }) => exact(value), value: ({ value }) => value, numeric: true },
      ],
    },
  });
};

/**
 * @param {string} name
 * @param {Track[]} track oldest first
 * @param {import('./figure.js').Source[]} sources
 * @param {AbortSignal} signal
 */
const trackFigure = (name, track, sources, signal) => {
  const title = 'Past forecasts against what came true';
  if (track.length === 0) {
    const reason = 'No run has forecast this market: its index is too short, or no forecasts have been made yet.';
    return h('section', {}, h('h2', {}, title), h('p', {}, reason), dataTools(sources));
  }
  const { due, meanError, inside } = scoreOf(track);
  const note =
    due === 0
      ? 'None has come due yet.'
      : `${due} came due: off by ${points(meanError).replace('+', '')} on average, ${share(inside)} inside the 80% band.`;
  const later = track.filter(({ basis }) => basis === 'reconstructed').length;
  const basis =
    later === 0 ? '' : ` ${later} of ${track.length} were reconstructed from later data: no record of what was said.`;
  const chart = lineChart(
    {
      label: `12-month changes forecast for ${name}, and those that came true.`,
      dates: track.map(({ target_period }) => target_period),
      lines: [
        { label: 'Came true', values: track.map(({ realized }) => realized), color: 'actual', style: 'solid' },
        { label: 'Forecast', values: track.map(({ point }) => point), color: 'accent', style: 'dashed' },
        { label: 'Upper 80%', values: track.map(({ upper_80 }) => upper_80), color: 'accent', style: 'none' },
        { label: 'Lower 80%', values: track.map(({ lower_80 }) => lower_80), color: 'accent', style: 'none' },
      ],
      band: { upper: 2, lower: 3, label: '80% band' },
      dateText: quarter,
      valueText: percent,
    },
    signal,
  );
  return chartFigure({
    title,
    note: `12-month change, in percent, by the quarter that it ends in. ${note}${basis}`,
    chart,
    sources,
    table: { rows: track, columns: TRACK_COLUMNS },
  });
};
