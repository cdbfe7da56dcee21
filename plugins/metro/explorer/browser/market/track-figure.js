import { chart } from '../../../../../core/pages/data-views/chart.js';
import { chartFigure, dataTools } from '../../../../../core/pages/data-views/figure.js';
import { column, numbers } from '../../../../../core/pages/data-views/table.js';
import { h } from '../../../../../core/pages/shared/dom.js';
import { day, exact, percent, points, quarter, share } from '../../../../../core/pages/shared/format.js';
import { basisNote, basisText } from '../basis.js';
import { quartersBetween, scoreOf } from '../market-figures.js';
import { plainName } from '../search.js';
import { creditsOf, publishersOf } from './context.js';

/** @import { ForecastTrack as Track } from '../../../client/api-types.js' */

const TITLE = 'Past forecasts and outcomes';

/** @type {import('../../../../../core/pages/data-views/table.js').Column<Track>[]} */
const COLUMNS = [
  column('Target', ({ target_period }) => target_period, quarter, { name: 'date' }),
  column('Run', ({ run_at }) => run_at, day, { name: 'date' }),
  column('Basis', ({ basis }) => basis),
  numbers('Forecast %', ({ point }) => point, exact),
  { label: 'Lower 80', cell: ({ lower_80 }) => exact(lower_80), numeric: true },
  { label: 'Upper 80', cell: ({ upper_80 }) => exact(upper_80), numeric: true },
  numbers('Outcome %', ({ realized }) => realized, exact),
  numbers('Error pp', ({ error_pp }) => error_pp, exact, { hint: 'Outcome minus forecast' }),
];

/** @param {readonly Track[]} track */
const scoreText = (track) => {
  const { due, meanError, inside } = scoreOf(track);
  return due === 0
    ? 'No forecast has come due yet.'
    : `${due} ${due === 1 ? 'has' : 'have'} come due: off by ${points(meanError).replace('+', '')} on average, ${share(inside)} inside the 80% band.`;
};

/** @param {readonly Track[]} track @returns {[reconstructed: number, all: number]} */
const countsOf = (track) => [track.filter(({ basis }) => basis === 'reconstructed').length, track.length];

/**
 * @param {readonly Track[]} track @param {string} name
 * @returns {import('../../../../../core/pages/data-views/drawing.js').ChartOptions}
 */
const optionsOf = (track, name) => {
  // If several runs have the same target quarter, the chart shows the latest run.
  const byTarget = new Map(track.map((row) => [row.target_period, row]));
  const targets = [...byTarget.keys()].sort();
  const dates = quartersBetween(`${targets[0]}`, `${targets.at(-1)}`);
  const values = (/** @type {(row: Track) => number | null} */ of) =>
    dates.map((date) => {
      const row = byTarget.get(date);
      return row ? of(row) : null;
    });
  return {
    label: `12-month changes forecast for ${name}, and the outcomes.`,
    unit: 'Percent over 12 months, by the quarter in which they end',
    dates,
    lines: [
      { label: 'Outcome', values: values(({ realized }) => realized), color: 'actual' },
      { label: 'Forecast', values: values(({ point }) => point), color: 'accent', dashed: true },
    ],
    band: { label: '80% band', lower: values(({ lower_80 }) => lower_80), upper: values(({ upper_80 }) => upper_80) },
    extra: { label: 'Error', values: values(({ error_pp }) => error_pp), text: points },
    dateText: quarter,
    valueText: percent,
  };
};

/** @param {import('./context.js').Context} context */
export const trackFigure = (context) => {
  const { market, track, signal } = context;
  const name = plainName(market.name);
  const file = `${market.cbsa}-forecasts`;
  const sources = [{ label: 'forecasts', target: `/markets/${market.cbsa}/forecast-track`, file }];
  if (track.length === 0) {
    const reason = 'No run has forecast this market: its index is too short, or there are no forecasts yet.';
    return h('section', h('h2', TITLE), h('p', reason), dataTools({ sources }));
  }
  const basis = basisText(...countsOf(track));
  const options = optionsOf(track, name);
  return chartFigure({
    title: TITLE,
    figure: 'forecasts',
    note: h('span', `${scoreText(track)} `, ...basisNote(...countsOf(track))),
    chart: chart(options, signal),
    publishers: publishersOf(context),
    sources,
    picture: {
      title: `${TITLE}: ${name}`,
      file,
      options: () => options,
      credits: () => [...(basis ? [basis] : []), ...creditsOf(context)],
    },
    table: { rows: track, columns: COLUMNS },
  });
};
