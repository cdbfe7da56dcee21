import { badge } from '../../../../core/pages/data-views/badge.js';
import { bar } from '../../../../core/pages/data-views/bars.js';
import { dataTools } from '../../../../core/pages/data-views/figure.js';
import { column, dataTable, numbers } from '../../../../core/pages/data-views/table.js';
import { getJson } from '../../../../core/pages/shared/api.js';
import { h } from '../../../../core/pages/shared/dom.js';
import { counted, day, direction, number, percent, points } from '../../../../core/pages/shared/format.js';
import { markOf, signalsNote } from './basis.js';
import { allMarkets, HPI } from './catalog.js';
import { commonCause, mainDriver } from './inputs.js';
import { marketLink, plainName } from './search.js';

const TARGET = '/movers?limit=50';

/** @typedef {Required<import('../../client/api-types.js').Mover>} Mover */

/** @param {number} most @returns {import('../../../../core/pages/data-views/table.js').Column<Mover>[]} */
const columns = (most) => [
  {
    label: 'Market',
    cell: (row) => [marketLink(row.cbsa, row.name), h('small', { class: 'muted narrow' }, mainDriver(row))],
    value: ({ name }) => name,
    name: 'named',
  },
  numbers('Change', ({ delta_pp }) => delta_pp, points),
  {
    label: 'Down or up',
    cell: ({ delta_pp }) => bar(delta_pp, { least: -most, most, color: delta_pp < 0 ? 'fall-2' : 'rise-4' }),
    name: 'wide',
  },
  {
    ...numbers('Forecast', (row) => row.forecast_12m, percent),
    cell: (row) => [
      percent(row.forecast_12m),
      h('small', { class: 'muted' }, `was\u00a0${percent(row.prior_forecast_12m)}`),
    ],
  },
  { label: 'Main driver', cell: mainDriver, name: 'wide long' },
  {
    ...column('Signal', ({ signal }) => signal, badge),
    cell: ({ signal, prior_signal: before }) => [
      badge(signal),
      before === signal ? null : h('small', { class: 'muted' }, `was\u00a0${before ?? 'none'}`),
    ],
    name: 'wide',
  },
];

/** @param {number} pp */
const sizeOf = (pp) => `${number(Math.abs(pp), 1)} percentage points`;

/** @param {Mover} first @param {ReturnType<typeof commonCause>} cause */
const findingOf = ({ name, delta_pp }, cause) => {
  if (delta_pp === 0) return 'No forecast changed since the previous run';
  if (!cause || direction(cause.change) === 0)
    return `The forecast for ${plainName(name)} changed most: by ${points(delta_pp)}`;
  return `The average forecast ${cause.change < 0 ? 'fell' : 'rose'} by ${sizeOf(cause.change)}, mainly because of ${cause.input}`;
};

const emptyView = () => ({
  title: 'There are no movers yet',
  name: 'Movers',
  content: [
    h(
      'p',
      { class: 'notice' },
      'Movers need two completed runs. The operator of the service creates runs with ',
      h('code', 'metro-forecast forecast'),
      '.',
    ),
  ],
});

/** @type {import('../../../../core/pages/data-views/router.js').Route} */
export const moversView = async (_parameters, signal) => {
  const [{ data }, markets, { data: runs }] = await Promise.all([
    getJson(TARGET, { signal }),
    allMarkets(),
    getJson('/forecast-runs', { signal }),
  ]);
  const newest = /** @type {Mover | undefined} */ (data[0]);
  if (!newest) return emptyView();
  const forecast = markets.filter(({ forecast_12m }) => forecast_12m !== null).length;
  const cause = newest.delta_pp === 0 ? undefined : commonCause(runs[0], runs[1]);
  const common = cause
    ? `On average, ${cause.input} changed the forecasts by ${points(cause.part)}. Most markets share this change; the table shows where it was largest. `
    : '';
  return {
    title: findingOf(newest, cause),
    name: 'Movers',
    question: 'Which forecasts changed most since the previous run, and why?',
    series: [HPI],
    about: [
      [`run of ${day(newest.run_at)}`, ...markOf(newest.basis)],
      [`previous run of ${day(newest.prior_run_at)}`, ...markOf(newest.prior_basis)],
    ],
    content: [
      h(
        'p',
        common,
        `${data.length === 1 ? 'This is the largest change' : `These are the ${data.length} largest changes`} among the 12-month forecasts of ${counted(forecast, 'market')}, up or down.`,
      ),
      dataTools({ sources: [{ label: 'movers', target: TARGET, file: 'movers' }] }),
      dataTable({
        caption: 'Largest changes in forecasts.',
        columns: columns(Math.max(...data.map((/** @type {Mover} */ { delta_pp }) => Math.abs(delta_pp)))),
        rows: /** @type {Mover[]} */ (data),
      }).element,
      h('p', { class: 'meaning muted' }, ...signalsNote(runs[0]?.rules)),
    ],
  };
};
